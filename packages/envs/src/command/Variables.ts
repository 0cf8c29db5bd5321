/**
 * Builds the environment variables of a program: the basic ones of this process, the model's in the names of each SDK,
 * the item, and those from the settings. Nothing else is passed on: keys and tokens of this process stay here unless a
 * setting names them.
 */
import { ExactJson } from "@atropos/core"
import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"
import type { WorkingFolder } from "./WorkingFolder.ts"

/** A gateway session, in the form programs receive it. */
export interface Model {
  readonly baseURL: string
  readonly anthropicBaseURL: string
  readonly apiKey: string
  readonly modelName: string
  readonly rewardURL: string
  readonly contextLength?: number
}

/** Variables of this process that are inherited: program and library paths, user, language. */
const inherited =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|PYTHONPATH|PYTHONHOME|PYENV_ROOT|PYENV_VERSION|VIRTUAL_ENV|CONDA_PREFIX|NODE_PATH|NVM_DIR|VOLTA_HOME|JAVA_HOME|GOPATH|GOROOT|CARGO_HOME|RUSTUP_HOME|SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS)$/

/** Variables that the dynamic linker, shells, interpreters, and container clients read before they run anything. */
const steering =
  /^(?:LD_|DYLD_|GLIBC_|GCONV_PATH$|LOCPATH$|NLSPATH$|HOSTALIASES$|RES_OPTIONS$|MALLOC_|BASH|ENV$|IFS$|PS4$|SHELLOPTS$|NODE_|PYTHON|PERL|RUBY|JAVA_TOOL|JDK_JAVA|GO[A-Z]|_?CONTAINERS?_|DOCKER_|BUILD|COMPOSE_|PODMAN_|STORAGE_|REGISTRY_|NETAVARK_|CONMON|XDG_|DBUS_|SSH_|SSL_|GNUPG|TMPDIR$|NOTIFY_SOCKET$|LISTEN_|\w*_PROXY$)/i

/** Reports whether a variable of this name changes how programs of this machine behave. */
export const steers = (name: string): boolean => steering.test(name) || inherited.test(name)

/** The maximum size of one variable on common systems, minus room for its name. */
const maxItemBytes = 96 * 1024

/** The program search path: the project's tools, reachable from any working directory, then the usual `PATH`. */
export const path = (startedIn: string, own: NodeJS.ProcessEnv = process.env): string => {
  const tools = join(startedIn, "node_modules", ".bin")
  return [...(existsSync(tools) ? [tools] : []), own["PATH"] ?? ""].join(delimiter)
}

/** The base URLs, keys and names from which SDKs and agents read the model. */
export const ofModel = ({
  anthropicBaseURL,
  apiKey,
  baseURL,
  contextLength,
  modelName,
  rewardURL
}: Model): { readonly [name: string]: string } => ({
  OPENAI_BASE_URL: baseURL,
  OPENAI_API_BASE: baseURL,
  OPENAI_API_KEY: apiKey,
  OPENAI_MODEL: modelName,
  ANTHROPIC_BASE_URL: anthropicBaseURL,
  ANTHROPIC_API_KEY: apiKey,
  ANTHROPIC_AUTH_TOKEN: apiKey,
  ANTHROPIC_MODEL: modelName,
  ANTHROPIC_SMALL_FAST_MODEL: modelName,
  MODEL: modelName,
  ...(contextLength !== undefined && { MODEL_CONTEXT_LENGTH: String(contextLength) }),
  REWARD_URL: rewardURL
})

export interface Options {
  /** Absent for scorers, which call no model. */
  readonly model?: Model
  readonly item: unknown
  readonly folder: Pick<WorkingFolder, "rewardFile" | "temporary">
  /** Its home, if not this process's own. */
  readonly home?: string
  /** The folder in which the environment was started. */
  readonly startedIn: string
  /** From the settings; override all others. */
  readonly variables: { readonly [name: string]: string }
  /** Names of additional variables of this process to pass on. */
  readonly pass: ReadonlyArray<string>
}

/** This process's basic variables and those named. */
export const kept = (pass: ReadonlyArray<string>, own: NodeJS.ProcessEnv = process.env) =>
  Object.fromEntries(
    Object.entries(own).flatMap(([name, value]) =>
      value !== undefined && (inherited.test(name) || pass.includes(name)) ? [[name, value] as const] : []
    )
  )

export const make = (
  { folder, home, item, model, pass, startedIn, variables }: Options,
  own: NodeJS.ProcessEnv = process.env
): { readonly [name: string]: string } => {
  const json = ExactJson.write(item) ?? "null"
  return {
    ...kept(pass, own),
    PATH: path(startedIn, own),
    ...(home !== undefined && { HOME: home }),
    TMPDIR: folder.temporary,
    // The gateway is on this machine, regardless of any proxy passed on.
    NO_PROXY: "127.0.0.1,localhost",
    no_proxy: "127.0.0.1,localhost",
    ...(Buffer.byteLength(json) <= maxItemBytes && { ITEM: json }),
    ...(model !== undefined && ofModel(model)),
    REWARD_FILE: folder.rewardFile,
    STARTED_IN: startedIn,
    ...variables
  }
}
