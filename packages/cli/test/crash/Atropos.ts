/**
 * The `atropos` command, and scripts beside it, as processes of their own: started as a user starts them, watched by
 * what they say, killed without warning. What is still running when the test's scope closes is killed.
 */
import { Effect, FileSystem, type Scope } from "effect"
import { spawn } from "node:child_process"
import { type AddressInfo, createServer, type Server } from "node:net"
import { fileURLToPath } from "node:url"
import * as Waits from "../../../core/test/base/Waits.ts"

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
  /** SIGKILL, from wherever the test is: nothing in the process runs after it. */
  readonly killNow: () => void
  /** SIGKILL, and waits for the end. */
  readonly kill: Effect.Effect<void>
  /** Waits for the end; the error of a test that ends before has all that was printed. */
  readonly ended: Effect.Effect<Ended>
}

export interface Options {
  /** Working folder. */
  readonly cwd: string
  /** Environment variables, beside those of the test that say nothing about Atropos. */
  readonly env?: { readonly [name: string]: string }
  /** A shell's command line to run first, in the process that becomes the command: limits. */
  readonly before?: string
  /** Runs it on a terminal of this size (by `script` of util-linux), which shows both of its streams. */
  readonly terminal?: { readonly columns: number; readonly rows: number }
}

const ours = /^(ATROPOS_|OPENAI_|HF_|SLURM|DATABASE_URL|PG|NODE_OPTIONS|VITEST|NO_COLOR|FORCE_COLOR)/

const environment = (own: Options["env"]): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name))),
  NO_COLOR: "1",
  ...own
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
  const start = { cwd: options.cwd, env: { ...environment(options.env), SHELL: "/bin/sh" } }
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
  const killNow = () => void child.kill("SIGKILL")
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
    killNow,
    kill: Effect.andThen(Effect.sync(killNow), Effect.asVoid(ended)),
    ended
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

const canListen = (port: number): Effect.Effect<boolean> =>
  Effect.callback((resume) => {
    const server = createServer()
    server.once("error", () => resume(Effect.succeed(false)))
    server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(true))))
  })

// Below the range from which the system takes the ports of outgoing connections: nobody takes it while its service is
// dead. Test workers have process ids beside each other, and ports far from each other: none takes what another keeps
// free.
let lastPort = 20_000 + ((process.pid * 97) % 11_000)

/** A server at a port that nobody else gets, which hangs up on everybody. */
export const deadServer: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.callback<Server>((resume) => {
    const server = createServer((socket) => socket.destroy())
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) =>
    Effect.callback<void>((resume) => {
      server.close(() => resume(Effect.void))
    })
).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`))

/** A port of the loopback that is free, and stays so while a killed service is started again. */
export const freePort: Effect.Effect<number> = Effect.gen(function* () {
  do lastPort = lastPort >= 31_000 ? 20_000 : lastPort + 1
  while (!(yield* canListen(lastPort)))
  return lastPort
})
