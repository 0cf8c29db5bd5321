/** pi (Chat Completions): the smallest prompt of them, and no request to anyone else. */
import type { CodingAgent } from "./CodingAgent.ts"

export const pi: CodingAgent = {
  name: "pi",
  program: "pi",
  install: "npm install --global @earendil-works/pi-coding-agent",
  minVersion: "1.6.0",
  triedVersion: "1.6.0",
  args: (task, { name }) => ["--provider", "atropos", "--model", name, "-p", task],
  variables: () => ({ PI_OFFLINE: "1" }),
  files: ({ apiKey, baseURL, contextLength, maxTokens, name }) => ({
    ".pi/agent/models.json": JSON.stringify({
      providers: {
        atropos: {
          baseUrl: baseURL,
          api: "openai-completions",
          apiKey,
          models: [{ id: name, contextWindow: contextLength, maxTokens }]
        }
      }
    })
  }),
  shell: { tool: "bash", args: (command) => ({ command }) }
}
