/** Claude Code (Messages). Started as root it asks for a sandbox, which the rollout's folder and box are. */
import type { CodingAgent } from "./CodingAgent.ts"

export const claudeCode: CodingAgent = {
  name: "claude-code",
  program: "claude",
  install: "npm install --global @anthropic-ai/claude-code",
  minVersion: "2.1.0",
  triedVersion: "2.1.332",
  acp: {
    program: "claude-agent-acp",
    install: "npm install --global @agentclientprotocol/claude-agent-acp",
    minVersion: "0.100.0",
    triedVersion: "0.101.0",
    // Otherwise the model is asked whether a command may run.
    files: () => ({
      ".claude/settings.json": JSON.stringify({ permissions: { defaultMode: "bypassPermissions" } })
    })
  },
  args: (task) => ["-p", task, "--dangerously-skip-permissions", "--output-format", "text"],
  variables: ({ contextLength, maxTokens }) => ({
    IS_SANDBOX: "1",
    DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_ATTRIBUTION_HEADER: "0",
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(contextLength),
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(maxTokens)
  }),
  shell: { tool: "Bash", args: (command) => ({ command, description: "Tries the shell" }) },
  needsShell: ["bash", "zsh"]
}
