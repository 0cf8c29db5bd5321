/** opencode (Chat Completions). With a title it asks for none, which would be a request beside the work. */
import type { CodingAgent } from "./CodingAgent.ts"

export const openCode: CodingAgent = {
  name: "opencode",
  program: "opencode",
  install: "npm install --global opencode-ai",
  minVersion: "1.18.0",
  triedVersion: "1.18.33",
  acp: ["acp"],
  args: (task) => ["run", "--title", "task", task],
  variables: ({ apiKey, baseURL, contextLength, maxTokens, name }) => ({
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      autoupdate: false,
      share: "disabled",
      permission: "allow",
      model: `atropos/${name}`,
      small_model: `atropos/${name}`,
      provider: {
        atropos: {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL, apiKey },
          models: { [name]: { limit: { context: contextLength, output: maxTokens } } }
        }
      }
    })
  }),
  shell: { tool: "bash", args: (command) => ({ command, description: "Tries the shell" }) }
}
