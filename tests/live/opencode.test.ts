import { describeLab } from "./lab/lab-tests.ts";

describeLab("opencode");
