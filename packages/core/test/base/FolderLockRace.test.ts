import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { createInterface, type Interface } from "node:readline"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("lockRacer.ts", import.meta.url))

interface Racer {
  readonly child: ChildProcess
  readonly lines: Interface
}

const nextLine = ({ child, lines }: Racer) =>
  Effect.callback<string>((resume) => {
    const ended = (code: number | null) => resume(Effect.die(new Error(`a racer ended with ${code}`)))
    child.once("exit", ended)
    lines.once("line", (line) => {
      child.off("exit", ended)
      resume(Effect.succeed(line))
    })
  })

const racer = Effect.acquireRelease(
  Effect.sync((): Racer => {
    const child = spawn(process.execPath, ["--conditions=atropos-src", program], { stdio: ["pipe", "pipe", "inherit"] })
    return { child, lines: createInterface(child.stdout) }
  }),
  ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
).pipe(Effect.tap(nextLine))

/** Kills it, and waits until it is gone. */
const kill = ({ child }: Racer) =>
  Effect.callback<void>((resume) => {
    child.once("exit", () => resume(Effect.void))
    child.kill("SIGKILL")
  })

const hold = (one: Racer, folder: string) => {
  const answer = nextLine(one)
  one.child.stdin?.write(`hold ${folder}\n`)
  return answer
}

const rounds = 12

layer(NodeServices.layer, { excludeTestServices: true })("FolderLock between processes", (it) => {
  it.effect("goes to exactly one of five that race for what a killed process held, twelve times in a row", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
      let racers = yield* Effect.all(
        Array.from({ length: 5 }, () => racer),
        { concurrency: 2 }
      )
      let holder = yield* racer
      assert.strictEqual(yield* hold(holder, folder), "held")
      for (let round = 0; round < rounds; round++) {
        yield* kill(holder)
        const answers = yield* Effect.forEach(racers, (one) => hold(one, folder), { concurrency: "unbounded" })
        const winners = racers.filter((_, index) => answers[index] === "held")
        assert.lengthOf(winners, 1, `round ${round}: ${answers.join(" ")}`)
        holder = winners[0]!
        for (const answer of answers.filter((text) => text !== "held")) {
          assert.deepInclude(JSON.parse(answer), { isHeld: true, holder: holder.child.pid })
        }
        racers = [...racers.filter((one) => one !== holder), ...(round + 1 < rounds ? [yield* racer] : [])]
      }
    })
  )
})
