/**
 * Reads a Harbor task: a directory with `task.toml`, `instruction.md`, `tests/` and usually `environment/` and
 * `solution/`.
 *
 * Reads the parts that a rollout needs, with Harbor's defaults. Features of the format that are not supported (several
 * steps, compose files, Windows, MCP servers, …) are not errors of the task: `refusal` states them, and none is ignored
 * silently. Links that leave the task are rejected before anything is read through them (`Tree`).
 */
import * as Reason from "@atropos/core/base/Reason"
import { Effect, FileSystem, Path } from "effect"
import { HarborError } from "./HarborError.ts"
import * as TaskFile from "./TaskFile.ts"
import * as Tree from "./Tree.ts"

/** The source of a container's image. */
export type Image =
  | { readonly _tag: "Built"; /** Contains a Dockerfile. */ readonly folder: string }
  | { readonly _tag: "Named"; readonly name: string }
  | { readonly _tag: "None" }

export interface Machine {
  readonly image: Image
  readonly buildSeconds: number
  readonly cpus?: number
  readonly memoryMb?: number
  readonly gpus?: number
  /** Network access is allowed unless the task excludes it. */
  readonly hasNetwork: boolean
  /** The task explicitly requests a network. */
  readonly asksForNetwork?: true
  /** Variables, whose values may be `${NAME}` of this process. */
  readonly env: Variables
  /** Working directory of commands; absent: the image's. */
  readonly workdir?: string
  readonly healthcheck?: NonNullable<TaskFile.Environment["healthcheck"]>
}

export type Variables = { readonly [name: string]: string }

export interface Verifier {
  readonly seconds: number
  readonly env: Variables
  readonly user?: string
  readonly hasNetwork: boolean
  readonly asksForNetwork?: true
  /** A separate machine, if the task requests one. */
  readonly own?: { readonly machine: Machine; /** Its image already contains `/tests`. */ readonly hasTests: boolean }
}

export interface Task {
  readonly name: string
  readonly folder: string
  readonly instruction: string
  readonly machine: Machine
  readonly agent: { readonly seconds?: number; readonly user?: string }
  readonly verifier: Verifier
  /** Paths that a verifier with its own machine receives, in addition to `/logs/artifacts`. */
  readonly artifacts: ReadonlyArray<string>
  readonly hasSolution: boolean
  readonly solutionEnv: Variables
  /** Unsupported features of the task; undefined: none. */
  readonly refusal: string | undefined
  /** Ignored keys. */
  readonly notes: ReadonlyArray<string>
}

const isCanary = (line: string): boolean =>
  /canary/i.test(line) && (line.startsWith("#") || (line.startsWith("<!--") && line.endsWith("-->")))

/**
 * Strips canary lines before the instruction, by which data sets are found in training data; they are not for the
 * agent.
 */
const withoutCanary = (text: string): string => {
  const lines = text.split("\n")
  let first = 0
  while (isCanary(lines[first]?.trim() ?? "")) first++
  while (first < lines.length && lines[first]!.trim() === "") first++
  return lines.slice(first).join("\n")
}

/** Converts `2G` to megabytes, as in older files. */
const megabytes = (path: string, key: string, size: string): Effect.Effect<number, HarborError> => {
  const [, number, unit] = /^\s*(\d+(?:\.\d+)?)\s*([GMK])B?\s*$/i.exec(size) ?? []
  if (number === undefined || unit === undefined) {
    return Effect.fail(
      new HarborError({ message: `${path}: ${key}: ${JSON.stringify(size)} is not a valid size (example: "2G")` })
    )
  }
  return Effect.succeed(
    Math.floor(Number(number) * { G: 1024, M: 1, K: 1 / 1024 }[unit.toUpperCase() as "G" | "M" | "K"])
  )
}

type NetworkMode = TaskFile.Environment["network_mode"]

const modeOf = ({ allow_internet: isAllowed, network_mode: mode }: TaskFile.Environment): NetworkMode =>
  mode ?? (isAllowed === undefined ? undefined : isAllowed ? "public" : "no-network")

const networkOf = (mode: NetworkMode): Pick<Machine, "hasNetwork" | "asksForNetwork"> => ({
  hasNetwork: mode !== "no-network",
  ...(mode === "public" && { asksForNetwork: true })
})

const machineOf = Effect.fnUntraced(function* (
  path: string,
  environment: TaskFile.Environment,
  image: Image,
  mode: NetworkMode
): Effect.fn.Return<Machine, HarborError> {
  const { build_timeout_sec = 600, cpus, env = {}, gpus, healthcheck, memory, memory_mb, workdir } = environment
  const memoryMb =
    memory_mb ?? (memory === undefined ? undefined : yield* megabytes(path, "environment.memory", memory))
  return {
    image,
    buildSeconds: build_timeout_sec,
    ...networkOf(mode),
    env,
    ...(cpus !== undefined && { cpus }),
    ...(memoryMb !== undefined && { memoryMb }),
    ...(gpus !== undefined && gpus > 0 && { gpus }),
    ...(workdir !== undefined && { workdir }),
    ...(healthcheck !== undefined && { healthcheck })
  }
})

const refusalOf = (file: TaskFile.TaskFile, has: (name: string) => boolean): string | undefined => {
  const { agent = {}, artifacts = [], environment = {}, steps = [], verifier = {} } = file
  const machines = [environment, ...(verifier.environment === undefined ? [] : [verifier.environment])]
  const modes = [agent.network_mode, verifier.network_mode, ...machines.map(modeOf)]
  const os = machines.map((one) => one.os?.toLowerCase() ?? "linux").find((name) => name !== "linux")
  if (steps.length > 0) return "multiple steps ([[steps]])"
  if (has("environment/docker-compose.yaml") || has("tests/docker-compose.yaml")) return "docker compose"
  if (os !== undefined) return `the operating system ${os} (environment.os)`
  if (machines.some(({ tpu }) => tpu !== undefined)) return "a TPU (environment.tpu)"
  if (machines.some(({ mcp_servers = [] }) => mcp_servers.length > 0)) return "MCP servers (environment.mcp_servers)"
  if (modes.includes("allowlist")) return 'a network allowlist (network_mode = "allowlist")'
  if (verifier.collect !== undefined && verifier.collect.length > 0) return "collect hooks (verifier.collect)"
  if (artifacts.some((one) => typeof one !== "string" && one.service !== undefined && one.service !== "main")) {
    return "artifacts of other services (artifacts.service)"
  }
  return has("trajectory.json") ? "an initial trajectory of another agent (trajectory.json)" : undefined
}

const userOf = (user: string | number | undefined) => (user === undefined ? {} : { user: String(user) })

export const read = Effect.fn("Task.read")(function* (
  folder: string
): Effect.fn.Return<Task, HarborError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const { basename, join } = yield* Path.Path
  const path = join(folder, "task.toml")
  const text = (name: string, what: string) =>
    Effect.mapError(
      fs.readFileString(join(folder, name)),
      (cause) => new HarborError({ message: `${join(folder, name)}: ${what}: ${Reason.ofFile(cause)}`, cause })
    )
  const exists = (name: string) => Effect.orElseSucceed(fs.exists(join(folder, name)), () => false)
  const isThere = (name: string) => Effect.isSuccess(Tree.status(join(folder, name)))
  for (const name of ["task.toml", "instruction.md"]) if (yield* isThere(name)) yield* Tree.checkFile(folder, name)
  for (const name of ["environment", "tests", "solution"])
    if (yield* isThere(name)) yield* Tree.check(join(folder, name))
  const { file, unknown } = yield* TaskFile.read(path, yield* text("task.toml", "a task needs this file"))
  const names = [
    "environment",
    "environment/Dockerfile",
    "environment/docker-compose.yaml",
    "tests/test.sh",
    "tests/Dockerfile",
    "tests/docker-compose.yaml",
    "solution/solve.sh",
    "trajectory.json",
    ".harborignore"
  ]
  const found = new Set(yield* Effect.filter(names, exists))
  const has = (name: string) => found.has(name)
  const { agent = {}, artifacts = [], environment = {}, solution = {}, verifier = {} } = file
  const refusal = refusalOf(file, has)
  const image: Image =
    environment.docker_image !== undefined
      ? { _tag: "Named", name: environment.docker_image }
      : has("environment/Dockerfile")
        ? { _tag: "Built", folder: join(folder, "environment") }
        : { _tag: "None" }
  const separate = verifier.environment_mode === "separate" || verifier.environment !== undefined
  if (verifier.environment_mode === "shared" && verifier.environment !== undefined) {
    return yield* new HarborError({
      message: `${path}: verifier.environment_mode is "shared", but [verifier.environment] is set: remove one of them`
    })
  }
  const ownImage = verifier.environment?.docker_image
  const hasTests = separate && (ownImage !== undefined || has("tests/Dockerfile"))
  if (refusal === undefined && !hasTests && !has("tests/test.sh")) {
    return yield* new HarborError({
      message: `${join(folder, "tests/test.sh")}: a task needs this file, which grades it`
    })
  }
  if (image._tag === "None" && !has("environment")) {
    return yield* new HarborError({
      message: `${folder}: a task needs a folder environment, or environment.docker_image in its task.toml`
    })
  }
  const mode = agent.network_mode ?? modeOf(environment)
  const machine = yield* machineOf(path, environment, image, mode)
  const own = verifier.environment ?? environment
  const verifierMode = verifier.network_mode ?? modeOf(own)
  return {
    name: file.task?.name ?? basename(folder),
    folder,
    instruction: refusal === undefined ? withoutCanary(yield* text("instruction.md", "a task needs this file")) : "",
    machine,
    agent: { ...(agent.timeout_sec !== undefined && { seconds: agent.timeout_sec }), ...userOf(agent.user) },
    verifier: {
      seconds: verifier.timeout_sec ?? 600,
      env: verifier.env ?? {},
      ...userOf(verifier.user),
      ...networkOf(verifierMode),
      ...(separate && {
        own: {
          hasTests,
          machine: yield* machineOf(
            path,
            own,
            ownImage !== undefined
              ? { _tag: "Named", name: ownImage }
              : has("tests/Dockerfile")
                ? { _tag: "Built", folder: join(folder, "tests") }
                : image,
            verifierMode
          )
        }
      })
    },
    artifacts: artifacts.map((one) => (typeof one === "string" ? one : one.source)),
    hasSolution: has("solution/solve.sh"),
    solutionEnv: solution.env ?? {},
    refusal,
    notes: [
      ...unknown.map((key) => `task.toml: unknown key ${key}`),
      ...(has(".harborignore") ? [".harborignore is not read"] : [])
    ]
  }
})
