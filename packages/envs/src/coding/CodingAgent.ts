/**
 * Describes how a coding agent of the terminal is run without a person: its program and arguments, what tells it the
 * model, and what of its requests is trained. A value of this type is a preset; `--env.agent` names one, or a file that
 * has one as its default export.
 */

/** The model, and the limits that an agent should know. */
export interface AgentModel {
  /** For clients of OpenAI's API, `…/v1`. */
  readonly baseURL: string
  /** For clients of Anthropic's API, without `/v1`. */
  readonly anthropicBaseURL: string
  readonly apiKey: string
  readonly name: string
  /** Max tokens of a prompt and its answer. */
  readonly contextLength: number
  /** Max tokens of an answer. */
  readonly maxTokens: number
}

export interface CodingAgent {
  /** As in `--env.agent`. */
  readonly name: string
  /** Its executable. */
  readonly program: string
  /** How it is installed, for errors. */
  readonly install: string
  /** The oldest version that is known to work, such as "1.2.0"; a program prints its own with `--version`. */
  readonly minVersion: string
  /** The newest version that was tried. */
  readonly triedVersion: string
  /** Arguments for one task, without a person and without questions. */
  readonly args: (task: string, model: AgentModel) => ReadonlyArray<string>
  /** Variables in addition to those of every program, which have the model's URLs, key and name. */
  readonly variables?: (model: AgentModel) => { readonly [name: string]: string }
  /** Files of its home, by their path in it. */
  readonly files?: (model: AgentModel) => { readonly [path: string]: string }
  /** For `--env.agent acp:NAME`: arguments with which it speaks that protocol, or the program that does it instead. */
  readonly acp?: ReadonlyArray<string> | AcpProgram
  /** Its tool that runs a command of the shell, with which it is tried at the start. */
  readonly shell: { readonly tool: string; readonly args: (command: string) => { readonly [name: string]: unknown } }
  /** Shells of which the machine needs one in `PATH`; absent: any will do. */
  readonly needsShell?: ReadonlyArray<string>
  /** Requests that are trained: all, or those that offer tools. Default: tools. */
  readonly trained?: "all" | "tools"
}

/** Runs a coding agent for clients of the Agent Client Protocol, with its variables and files unless it has others. */
export interface AcpProgram extends Pick<
  CodingAgent,
  "program" | "install" | "minVersion" | "triedVersion" | "variables" | "files"
> {}

type Known = "minVersion" | "triedVersion" | "shell"

/** What is run: a coding agent, or any program that speaks the Agent Client Protocol. */
export interface Runnable extends Omit<CodingAgent, Known>, Partial<Pick<CodingAgent, Known>> {
  /** True if it gets its task over that protocol. */
  readonly isOverAcp?: boolean
}
