/**
 * The environment variables of a program: what any program needs of this process's own, the model as each SDK reads it,
 * the item, and what the settings add. Nothing else goes along: keys and tokens of this process stay here unless a
 * setting names them.
 */
import { ExactJson } from "@atropos/core"
import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"
import type { WorkingFolder } from "./WorkingFolder.ts"

/** A session of the gateway, as programs are told of it. */
export interface Model {
  readonly baseURL: string
  readonly anthropicBaseURL: string
  readonly apiKey: string
  readonly modelName: string
  readonly rewardURL: string
}

/** Of this process's own variables: where programs and libraries are, who asks, in which language. */
const inherited =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|PYTHONPATH|PYTHONHOME|PYENV_ROOT|PYENV_VERSION|VIRTUAL_ENV|CONDA_PREFIX|NODE_PATH|NVM_DIR|VOLTA_HOME|JAVA_HOME|GOPATH|GOROOT|CARGO_HOME|RUSTUP_HOME|SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS)$/

/** What the dynamic linker, shells, interpreters, and clients of containers read before they run anything. */
const steering =
  /^(?:LD_|DYLD_|GLIBC_|GCONV_PATH$|LOCPATH$|NLSPATH$|HOSTALIASES$|RES_OPTIONS$|MALLOC_|BASH|ENV$|IFS$|PS4$|SHELLOPTS$|NODE_|PYTHON|PERL|RUBY|JAVA_TOOL|JDK_JAVA|GO[A-Z]|_?CONTAINERS?_|DOCKER_|BUILD|COMPOSE_|PODMAN_|STORAGE_|REGISTRY_|NETAVARK_|CONMON|XDG_|DBUS_|SSH_|SSL_|GNUPG|TMPDIR$|NOTIFY_SOCKET$|LISTEN_|\w*_PROXY$)/i

/** Whether a variable of this name changes what a program of this machine does that is started with it. */
export const steers = (name: string): boolean => steering.test(name) || inherited.test(name)

/** The longest text that systems take as one variable, with room for its name. */
const mostItemBytes = 96 * 1024

/** Where programs are looked for: tools of the project, which are found from any working folder, and then as usual. */
export const path = (startedIn: string, own: NodeJS.ProcessEnv = process.env): string => {
  const tools = join(startedIn, "node_modules", ".bin")
  return [...(existsSync(tools) ? [tools] : []), own["PATH"] ?? ""].join(delimiter)
}

/** The base URLs, keys and names under which SDKs and agents look for a model. */
export const ofModel = ({
  anthropicBaseURL,
  apiKey,
  baseURL,
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
  REWARD_URL: rewardURL
})

export interface Options {
  /** Absent: a scorer, which asks no model. */
  readonly model?: Model
  readonly item: unknown
  readonly folder: Pick<WorkingFolder, "rewardFile" | "temporary">
  /** Its home, where that is not this process's own. */
  readonly home?: string
  /** The folder in which the environment was started. */
  readonly startedIn: string
  /** Added by the settings, over all others. */
  readonly variables: { readonly [name: string]: string }
  /** Names of further variables of this process that go along. */
  readonly pass: ReadonlyArray<string>
}

/** Of this process's variables those that any program needs, and those named. */
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
    // The gateway is on this machine, whatever proxy is passed along.
    NO_PROXY: "127.0.0.1,localhost",
    no_proxy: "127.0.0.1,localhost",
    ...(Buffer.byteLength(json) <= mostItemBytes && { ITEM: json }),
    ...(model !== undefined && ofModel(model)),
    REWARD_FILE: folder.rewardFile,
    STARTED_IN: startedIn,
    ...variables
  }
}
