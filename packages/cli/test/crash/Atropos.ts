/**
 * The `atropos` command, and scripts beside it, as processes of their own: started as a user starts them, watched by
 * what they say, killed without warning. What is still running when the test's scope closes is killed.
 */
import { Effect, FileSystem, type Scope } from "effect"
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as KillMoment from "./KillMoment.ts"

/** The command's own script. */
const command = fileURLToPath(new URL("../../bin/atropos.js", import.meta.url))

/** A process that ended: its code, or the signal that ended it, and all it said. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

export interface Running {
  readonly pid: number | undefined
  /** Standard output and standard error so far, as they came. */
  readonly said: () => string
  /**
   * Waits until the process has said something; dies with all that it did say when it ends before. The error of a test
   * that ends before has it too.
   */
  readonly says: (what: string | RegExp) => Effect.Effect<RegExpExecArray>
  /** Presses these keys, where it runs on a terminal. */
  readonly type: (keys: string) => void
  /** SIGKILL, and waits for the end. */
  readonly kill: Effect.Effect<void>
  /** Waits for the end; the error of a test that ends before has all that was printed. */
  readonly ended: Effect.Effect<Ended>
  /** Waits until it has killed itself at the moment it was given; dies when it ends otherwise. */
  readonly killed: Effect.Effect<void>
}

export interface Options {
  /** Working folder. */
  readonly cwd: string
  /** Environment variables, beside those of the test that say nothing about Atropos. */
  readonly env?: { readonly [name: string]: string }
  /** When it kills itself. */
  readonly killAt?: KillMoment.KillMoment
  /** A shell's command line to run first, in the process that becomes the command: limits. */
  readonly before?: string
  /** Runs it on a terminal of this size (by `script` of util-linux), which shows both of its streams. */
  readonly terminal?: { readonly columns: number; readonly rows: number }
}

const ours = /^(ATROPOS_|OPENAI_|HF_|SLURM|DATABASE_URL|PG|NODE_OPTIONS|VITEST|NO_COLOR|FORCE_COLOR)/

const killAtScript = new URL("killAt.ts", import.meta.url).href

const environment = ({ env, killAt }: Options): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name))),
  NO_COLOR: "1",
  // By the environment: the command may hand over to another Node.
  ...(killAt && { NODE_OPTIONS: `--import=${killAtScript}`, [KillMoment.variable]: KillMoment.encode(killAt) }),
  ...env
})

const escaped = (what: string | RegExp): RegExp =>
  typeof what === "string" ? new RegExp(what.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")) : what

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

/** A program, and its words. */
const commandOf = (args: ReadonlyArray<string>, { before, terminal }: Options): ReadonlyArray<string> => {
  const node = [process.execPath, "--conditions=atropos-src", ...args]
  if (terminal !== undefined) {
    const size = `stty cols ${terminal.columns} rows ${terminal.rows}`
    return ["script", "-qefc", `${size}; exec ${node.map(quoted).join(" ")}`, "/dev/null"]
  }
  return before === undefined ? node : ["sh", "-c", `${before}; exec "$@"`, "sh", ...node]
}

const make = (args: ReadonlyArray<string>, options: Options): Running => {
  const [program = "", ...words] = commandOf(args, options)
  const start = { cwd: options.cwd, env: { ...environment(options), SHELL: "/bin/sh" } }
  const child =
    options.terminal === undefined
      ? spawn(program, words, { ...start, stdio: ["ignore", "pipe", "pipe"] })
      : spawn(program, words, { ...start, stdio: ["pipe", "pipe", "pipe"] })
  let all = ""
  let out = ""
  let err = ""
  let end: Ended | undefined
  const watchers = new Set<() => void>()
  const tell = () => {
    for (const watcher of watchers) watcher()
  }
  child.stdout.on("data", (bytes: Buffer) => {
    out += bytes.toString()
    all += bytes.toString()
    tell()
  })
  child.stderr.on("data", (bytes: Buffer) => {
    err += bytes.toString()
    all += bytes.toString()
    tell()
  })
  child.on("error", (error) => {
    end = { code: null, signal: null, out, err: `${err}${error.message}` }
    tell()
  })
  child.on("close", (code, signal) => {
    end = { code, signal, out, err }
    tell()
  })

  /** The first answer that `look` gives, now or when there is news. */
  const watch = <A>(forWhat: string, look: () => A | undefined, orEnd: (end: Ended) => Effect.Effect<A>) =>
    Effect.callback<A>((resume) => {
      const watcher = () => {
        const found = look()
        if (found === undefined && end === undefined) return
        watchers.delete(watcher)
        resume(found === undefined ? orEnd(end!) : Effect.succeed(found))
      }
      watchers.add(watcher)
      watcher()
      return Effect.sync(() => void watchers.delete(watcher))
    }).pipe(Waits.named(`${forWhat} of ${args.join(" ")}`, () => all))

  const ended = watch<Ended>("end", () => end, Effect.succeed)
  const kill = Effect.sync(() => void child.kill("SIGKILL"))
  const killed = Effect.flatMap(ended, ({ code, signal }) =>
    signal === "SIGKILL"
      ? Effect.void
      : Effect.die(
          new Error(
            `ended (${code ?? signal}), and not ${options.killAt && KillMoment.format(options.killAt)}:\n${all}`
          )
        )
  )
  return {
    pid: child.pid,
    said: () => all,
    says: (what) => {
      const pattern = escaped(what)
      return watch(
        `word of ${pattern}`,
        () => pattern.exec(all) ?? undefined,
        ({ code, signal }) => Effect.die(new Error(`ended (${code ?? signal}) without ${pattern}. It said:\n${all}`))
      )
    },
    type: (keys) => void child.stdin?.write(keys),
    kill: Effect.andThen(kill, Effect.asVoid(ended)),
    ended,
    killed
  }
}

/** Starts a script with these words. */
export const startScript = (
  file: URL,
  words: ReadonlyArray<string>,
  options: Options
): Effect.Effect<Running, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => make([fileURLToPath(file), ...words], options)),
    ({ kill }) => kill
  )

/** Starts `atropos` with these words. */
export const start = (words: ReadonlyArray<string>, options: Options): Effect.Effect<Running, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => make([command, ...words], options)),
    ({ kill }) => kill
  )

/** Runs `atropos` with these words to its end. */
export const run = (words: ReadonlyArray<string>, options: Options): Effect.Effect<Ended> =>
  Effect.scoped(Effect.flatMap(start(words, options), ({ ended }) => ended))

/** A folder that goes with the scope. */
export const folder = FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped({ prefix: "atropos-test-" }))
