/**
 * Codex (Responses). It takes the model's server from its settings alone; its own sandbox is off, because it cannot be
 * made in the rollout's. Comments do not count for its limit of silence, which is an hour here.
 */
import type { CodingAgent } from "./CodingAgent.ts"

const hour = 3_600_000

export const codex: CodingAgent = {
  name: "codex",
  program: "codex",
  install: "npm install --global @openai/codex",
  minVersion: "0.150.0",
  triedVersion: "0.171.0",
  args: (task, { baseURL, contextLength, name }) => [
    "exec",
    "--skip-git-repo-check",
    "--ignore-user-config",
    "--dangerously-bypass-approvals-and-sandbox",
    ...[
      `model=${JSON.stringify(name)}`,
      `model_context_window=${contextLength}`,
      "model_provider=atropos",
      `model_providers.atropos={name="atropos",base_url=${JSON.stringify(baseURL)},env_key="OPENAI_API_KEY",wire_api="responses",stream_idle_timeout_ms=${hour}}`,
      "web_search=disabled",
      "agents.enabled=false",
      "features.plugins=false",
      "features.apps=false",
      "analytics.enabled=false",
      "check_for_update_on_startup=false"
    ].flatMap((setting) => ["-c", setting]),
    task
  ],
  shell: { tool: "exec_command", args: (command) => ({ cmd: command }) }
}
