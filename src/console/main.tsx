import { render } from "preact";
import "./console.css";

const root = document.getElementById("console");
if (root !== null) render(<h1>svc</h1>, root);
