/** Qwen Code (Chat Completions). Comments of a stream do not count for its limit of silence, which is an hour here. */
import type { CodingAgent } from "./CodingAgent.ts"

const hour = 3_600_000

export const qwenCode: CodingAgent = {
  name: "qwen-code",
  program: "qwen",
  install: "npm install --global @qwen-code/qwen-code (Node 22 or newer)",
  minVersion: "0.24.0",
  triedVersion: "0.24.4",
  acp: ["--acp", "--auth-type", "openai", "--yolo"],
  args: (task) => ["--auth-type", "openai", "--yolo", "-p", task],
  variables: () => ({ QWEN_STREAM_IDLE_TIMEOUT_MS: String(hour), QWEN_STREAM_MAX_LIFETIME_MS: String(hour) }),
  files: ({ contextLength, maxTokens }) => ({
    ".qwen/settings.json": JSON.stringify({
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      general: { enableAutoUpdate: false },
      // Over ACP these are requests in addition to the work, with its tools.
      ui: { enableFollowupSuggestions: false },
      memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
      model: {
        generationConfig: {
          timeout: hour,
          contextWindowSize: contextLength,
          samplingParams: { max_tokens: maxTokens }
        }
      }
    })
  }),
  shell: {
    tool: "run_shell_command",
    args: (command) => ({ command, is_background: false, description: "Tries the shell" })
  },
  needsShell: ["bash"]
}
