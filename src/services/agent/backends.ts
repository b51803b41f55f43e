/** What a gateway can do for the agents of one kind of session backend. */
interface BackendFacts {
  /** Null when this gateway serves the backend, else why it does not, as a clause for people. */
  refusal: string | null;
  /** Direct prompts reach it (contract 4.2 rule 9). */
  directPrompt: boolean;
  /** Each turn is a separate process; there is no terminal to read or type into. */
  headless: boolean;
  /** Raw keys arrive exactly as they were sent (contract 4.3). */
  exactKeys: boolean;
}

const localTerminal: BackendFacts = {
  refusal: null,
  directPrompt: true,
  headless: false,
  exactKeys: true,
};

/** REST-backed sessions of old manifests; new launches do not create them (contract 9.4). */
const restBacked: BackendFacts = {
  refusal: "it is a REST-backed session of an older system, which no gateway attaches to",
  directPrompt: true,
  headless: false,
  exactKeys: false,
};

const headless: BackendFacts = {
  refusal: null,
  directPrompt: true,
  headless: true,
  exactKeys: false,
};

const known: Readonly<Record<string, BackendFacts>> = {
  local_interactive: localTerminal,
  codex_app_server: {
    refusal: "an app-server session has no terminal that a gateway could drive",
    directPrompt: false,
    headless: false,
    exactKeys: false,
  },
  cao_rest: restBacked,
  svc_server_rest: restBacked,
};

const unknown: BackendFacts = {
  refusal: "this version does not know it",
  directPrompt: false,
  headless: false,
  exactKeys: false,
};

/** What the backend of a tool's headless sessions ends with: `claude_headless`. */
const headlessSuffix = "_headless";

/** The facts of a manifest's `backend`. Pure. Source: contract 4.2, 4.3, 7, 9; spec/gateway.md 2.7. */
export function backendFacts(backend: string): BackendFacts {
  if (backend.endsWith(headlessSuffix)) return headless;
  return Object.hasOwn(known, backend) ? (known[backend] ?? unknown) : unknown;
}
