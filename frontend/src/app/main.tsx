// Start of the page.
import { render } from "preact";
import "./tokens.css";

const root = document.getElementById("app");
if (root) render(<p>Profile</p>, root);
