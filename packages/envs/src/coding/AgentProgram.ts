/**
 * Makes of a coding agent and a session what is to be run: words, variables and files of its home; or one shell script
 * that does all of it, for a machine whose files are not this process's.
 */
import type { AgentModel, Runnable } from "./CodingAgent.ts"

/** What an agent needs of a gateway session. */
export interface Session {
  readonly baseURL: string
  readonly anthropicBaseURL: string
  readonly apiKey: string
  readonly modelName: string
  readonly contextLength?: number
}

export interface AgentProgram {
  readonly words: ReadonlyArray<string>
  /** Sent over the Agent Client Protocol, not an argument. */
  readonly task?: string
  readonly variables: { readonly [name: string]: string }
  readonly files: { readonly [path: string]: string }
  readonly needsShell: ReadonlyArray<string>
}

/** For an agent that has to be told a length, if none is known: that of most current models. */
const usualContext = 131_072

export const modelOf = (
  { anthropicBaseURL, apiKey, baseURL, contextLength = usualContext, modelName: name }: Session,
  maxTokens: number
): AgentModel => ({ anthropicBaseURL, apiKey, baseURL, contextLength, name, maxTokens })

export interface Options {
  readonly agent: Runnable
  /** The program and its first arguments; default: the agent's, found by `PATH`. */
  readonly program: ReadonlyArray<string> | undefined
  readonly task: string
  readonly session: Session
  /** Max tokens of an answer. */
  readonly maxTokens: number
}

export const of = ({ agent, maxTokens, program, session, task }: Options): AgentProgram => {
  const model = modelOf(session, maxTokens)
  // A task that begins with a dash, such as a list, would be an option.
  const word = task.startsWith("-") ? ` ${task}` : task
  const own = program ?? [agent.program]
  return {
    ...(agent.isOverAcp
      ? { words: [...own, ...(agent.acp === undefined || "program" in agent.acp ? [] : agent.acp)], task }
      : { words: [...own, ...agent.args(word, model)] }),
    variables: agent.variables?.(model) ?? {},
    files: agent.files?.(model) ?? {},
    needsShell: agent.needsShell ?? []
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Without its shell an agent does nothing and ends well. */
const shellFound = (shells: ReadonlyArray<string>): string => {
  const missing = `this agent needs ${shells.join(" or ")} in the machine of the task: add it to the image`
  return [
    ...shells.map((shell) => `command -v ${quoted(shell)} >/dev/null`),
    `{ echo ${quoted(missing)} >&2; exit 125; }`
  ].join(" || ")
}

/** A script of the shell: a fresh home with the files, the variables, then the program instead of the shell. */
export const script = ({ files, needsShell, variables, words }: AgentProgram): string =>
  [
    ...(needsShell.length === 0 ? [] : [shellFound(needsShell)]),
    'HOME=$(mktemp -d "${TMPDIR:-/tmp}/agent-home-XXXXXX") || exit 125; export HOME',
    ...Object.entries(files).map(
      ([path, text]) =>
        `mkdir -p "$(dirname "$HOME"/${quoted(path)})" && printf %s ${quoted(text)} > "$HOME"/${quoted(path)} || exit 125`
    ),
    ...Object.entries(variables).map(([name, value]) => `export ${name}=${quoted(value)}`),
    `exec ${words.map(quoted).join(" ")}`
  ].join("\n")
