// Paper is white: the light theme while the page is printed.

/** Installed before charts listen, because they draw again in the theme set here. */
export function printInLight(own: Window = window): void {
  const { dataset } = own.document.documentElement;
  own.addEventListener("beforeprint", () => {
    const shown = dataset["theme"] ?? "light";
    dataset["theme"] = "light";
    own.addEventListener("afterprint", () => (dataset["theme"] = shown), { once: true });
  });
}
