// Entry point that TensorBoard imports into the tab's frame: sends the frame to the real page beside this file.
export function render() {
  window.location.replace(new URL("index.html", import.meta.url).href);
}
