/** What a gateway supports for one session backend. */
interface BackendFacts {
  /** Why this gateway does not serve the backend, as a clause for people; null when it does. */
  refusal: string | null;
  /** Whether direct prompts are supported (contract 4.2 rule 9). */
  directPrompt: boolean;
  /** Whether each turn is a separate process, without a terminal to read or type into. */
  headless: boolean;
  /** Whether raw keys arrive exactly as they were sent (contract 4.3). */
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

const backends: Readonly<Record<string, BackendFacts>> = {
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

const unknownBackend: BackendFacts = {
  refusal: "this version does not know it",
  directPrompt: false,
  headless: false,
  exactKeys: false,
};

/** The end of a headless backend's name, as in `claude_headless`. */
const headlessSuffix = "_headless";

/** The facts of a manifest's `backend`. Pure. Source: contract 4.2, 4.3, 7, 9; spec/gateway.md 2.7. */
export function backendFacts(backend: string): BackendFacts {
  if (backend.endsWith(headlessSuffix)) return headless;
  return Object.hasOwn(backends, backend) ? (backends[backend] ?? unknownBackend) : unknownBackend;
}
