// The styles of the shell, in the order of the cascade.
import "./tokens.css";
import "./base.css";
import "../shell/shell.css";
import "./pages.css";
import "./print.css";
