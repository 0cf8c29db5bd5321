/**
 * Codex (Responses). It takes the model's server from its settings alone; its own sandbox is off, because it cannot be
 * made in the rollout's. Comments do not count for its limit of silence, which is an hour here.
 */
import type { AgentModel, CodingAgent } from "./CodingAgent.ts"

const hour = 3_600_000

const settings = ({ baseURL, contextLength, name }: AgentModel) => ({
  model: name,
  model_context_window: contextLength,
  model_provider: "atropos",
  model_providers: {
    atropos: {
      name: "atropos",
      base_url: baseURL,
      env_key: "OPENAI_API_KEY",
      wire_api: "responses",
      stream_idle_timeout_ms: hour
    }
  },
  web_search: "disabled",
  agents: { enabled: false },
  features: { plugins: false, apps: false },
  analytics: { enabled: false },
  check_for_update_on_startup: false
})

const pairs = (table: object): ReadonlyArray<string> =>
  Object.entries(table).map(([name, value]) => `${name}=${toml(value)}`)

/** A value of TOML. */
const toml = (value: unknown): string =>
  typeof value === "object" && value !== null ? `{${pairs(value).join(",")}}` : JSON.stringify(value)

export const codex: CodingAgent = {
  name: "codex",
  program: "codex",
  install: "npm install --global @openai/codex",
  minVersion: "0.150.0",
  triedVersion: "0.171.0",
  acp: {
    program: "codex-acp",
    install: "npm install --global @agentclientprotocol/codex-acp",
    minVersion: "2.0.0",
    triedVersion: "2.6.0",
    variables: () => ({ INITIAL_AGENT_MODE: "agent-full-access" }),
    files: (model) => ({ ".codex/config.toml": pairs(settings(model)).join("\n") })
  },
  args: (task, model) => [
    "exec",
    "--skip-git-repo-check",
    "--ignore-user-config",
    "--dangerously-bypass-approvals-and-sandbox",
    ...pairs(settings(model)).flatMap((pair) => ["-c", pair]),
    task
  ],
  shell: { tool: "exec_command", args: (command) => ({ cmd: command }) }
}
