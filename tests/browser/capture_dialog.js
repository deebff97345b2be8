// The CAPTURE PROFILE dialog, as a user fills it in.
import * as h from "./harness.js";

/** The open dialog, on the page that `tab` shows. */
export async function openDialog(tab) {
  await h.click(tab, "button.capture");
  await h.until("the form", () => tab.frame().$('input[name="service"]'));
  return tab;
}

/** Replaces the value of a field. */
export async function fill(tab, name, value) {
  const field = await h.until(`field ${name}`, () => tab.frame().$(`input[name="${name}"]`));
  await field.evaluate((input) => {
    input.focus();
    input.select();
  });
  await field.type(value);
}

/** Presses the button of the dialog with this label. */
export async function press(tab, label) {
  await h.until(`button ${label}`, () =>
    tab.frame().evaluate((wanted) => {
      const button = [...document.querySelectorAll("dialog button")].find((b) => b.textContent === wanted && !b.disabled);
      button?.click();
      return Boolean(button);
    }, label),
  );
}
