import type { LabTool } from "./cli-cache.ts";

/** What one tool needs to run offline against the scripted model, as plain data. */
export interface Recipe {
  /** Beyond the base environment of the sandbox. */
  env: Readonly<Record<string, string>>;
  /** Arguments of the terminal program. */
  args: readonly string[];
  /** Files to write before the start: path under the home folder and content. */
  files: Readonly<Record<string, string>>;
}

export interface RecipeFacts {
  /** `http://127.0.0.1:<port>` of the scripted model. */
  modelUrl: string;
  /** Absolute, with links resolved: the tools compare it with their own idea of the working folder. */
  workFolder: string;
  /** False leaves the working folder unknown to the tool, which then asks about it where it knows how. */
  trusted: boolean;
  /**
   * The tool can be launched without permissions and sandboxes, by its own flags or, where it has none, as it
   * is.
   */
  unattended: boolean;
  /** Without the signs of work that a user can configure away: claude in vim mode, with its title off. */
  fewSigns?: boolean;
}

const dummyKey = "lab-dummy-key-0123456789abcdef";

/**
 * The recipe of a tool: seeds that skip onboarding, trust and update dialogs, and no traffic but to the
 * model.
 */
export function recipeOf(tool: LabTool, facts: RecipeFacts): Recipe {
  return recipes[tool](facts);
}

const recipes: Readonly<Record<LabTool, (facts: RecipeFacts) => Recipe>> = {
  claude: ({ modelUrl, workFolder, trusted, unattended, fewSigns }) => ({
    env: {
      ANTHROPIC_BASE_URL: modelUrl,
      ANTHROPIC_API_KEY: dummyKey,
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
      // It refuses its unattended flag to root unless it is told that nothing can be hurt.
      ...(unattended ? { IS_SANDBOX: "1" } : {}),
      ...(fewSigns ? { CLAUDE_CODE_DISABLE_TERMINAL_TITLE: "1" } : {}),
    },
    // Since 2.1.300 its default decides by itself and asks nothing.
    args: unattended ? [] : ["--permission-mode", "default"],
    files: {
      ".claude.json": JSON.stringify({
        hasCompletedOnboarding: true,
        theme: "dark",
        numStartups: 1,
        // The tool stores the last 20 characters of a key that a person approved.
        customApiKeyResponses: { approved: [dummyKey.slice(-20)], rejected: [] },
        projects: trusted
          ? {
              [workFolder]: {
                hasTrustDialogAccepted: true,
                hasCompletedProjectOnboarding: true,
                allowedTools: [],
              },
            }
          : {},
      }),
      ".claude/settings.json": JSON.stringify({
        ...(unattended ? { skipDangerousModePermissionPrompt: true } : {}),
        ...(fewSigns ? { editorMode: "vim" } : {}),
      }),
    },
  }),
  codex: (facts) => ({
    env: { MOCK_API_KEY: dummyKey },
    // Without --no-daemon a background server outlives the session; without --no-alt-screen it hides its
    // history.
    args: ["--no-daemon", "--no-alt-screen"],
    files: { ".codex/config.toml": codexConfig(facts) },
  }),
  gemini: ({ modelUrl, workFolder, trusted }) => ({
    env: {
      GEMINI_API_KEY: dummyKey,
      GOOGLE_GEMINI_BASE_URL: modelUrl,
      GEMINI_TELEMETRY_ENABLED: "false",
    },
    args: [],
    files: {
      ".gemini/settings.json": JSON.stringify({
        security: { auth: { selectedType: "gemini-api-key" } },
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        privacy: { usageStatisticsEnabled: false },
        telemetry: { enabled: false },
      }),
      ".gemini/trustedFolders.json": JSON.stringify(trusted ? { [workFolder]: "TRUST_FOLDER" } : {}),
    },
  }),
  opencode: ({ modelUrl, unattended }) => ({
    env: {
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    },
    args: [],
    files: { ".config/opencode/opencode.json": JSON.stringify(opencodeConfig(modelUrl, unattended)) },
  }),
};

function codexConfig({ modelUrl, workFolder, trusted }: RecipeFacts): string {
  return `model = "mock-model"
model_provider = "mock"
model_context_window = 200000
check_for_update_on_startup = false
approval_policy = "on-request"
sandbox_mode = "workspace-write"

[model_providers.mock]
name = "mock"
base_url = "${modelUrl}/v1"
env_key = "MOCK_API_KEY"
wire_api = "responses"
supports_websockets = false
request_max_retries = 1
stream_max_retries = 1

${trusted ? `[projects."${workFolder}"]\ntrust_level = "trusted"` : ""}

[tui]
animations = true
show_tooltips = false
notifications = false

[notice]
hide_full_access_warning = true

[analytics]
enabled = false
`;
}

function opencodeConfig(modelUrl: string, unattended: boolean) {
  const model = (name: string) => ({ name, tool_call: true, limit: { context: 128_000, output: 4096 } });
  return {
    autoupdate: false,
    share: "disabled",
    model: "mock/mock-model",
    small_model: "mock/mock-model",
    enabled_providers: ["mock"],
    provider: {
      mock: {
        npm: "@ai-sdk/openai-compatible",
        name: "Mock",
        options: { baseURL: `${modelUrl}/v1`, apiKey: dummyKey },
        models: { "mock-model": model("Mock model"), "other-model": model("Other model") },
      },
    },
    permission: { bash: unattended ? "allow" : "ask" },
  };
}
