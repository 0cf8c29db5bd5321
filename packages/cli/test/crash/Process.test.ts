/** `atropos process` killed in the midst of its work: it goes on where its file ended. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Option, Stream } from "effect"
import * as Bin from "../Bin.ts"
import * as InProcess from "../InProcess.ts"

/** The first line that fits, of a stream of bytes. */
const firstLine = (stream: Stream.Stream<Uint8Array, unknown>, fits: (line: string) => boolean) =>
  stream.pipe(Stream.decodeText, Stream.splitLines, Stream.filter(fits), Stream.runHead, Effect.map(Option.getOrThrow))

/** What a run of my-env asked for, group by group. */
const numbersIn = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs.readFileString(file)
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => Number(JSON.parse(line).messages[0][0].content))
    .sort((a, b) => a - b)
})

layer(NodeServices.layer, { excludeTestServices: true })("atropos process", (it) => {
  it.effect("goes on after kill -9 where the file ended, each item once", () =>
    Effect.gen(function* () {
      const cwd = yield* InProcess.folder
      const words = [
        "process",
        "--env",
        Bin.myEnvironment,
        "--testing",
        "--env.largest",
        "100000",
        "--env.total_steps",
        "600"
      ]
      yield* Effect.scoped(
        Effect.gen(function* () {
          const child = yield* Bin.start(words, { cwd })
          yield* firstLine(child.stderr, (line) => line.includes("/600 groups"))
          yield* child.kill({ killSignal: "SIGKILL" })
        })
      )
      const before = yield* numbersIn(`${cwd}/data/repeat.jsonl`).pipe(Effect.orElseSucceed(() => []))
      const { code, stdout } = yield* InProcess.run(words)
      assert.strictEqual(code, 0)
      assert.match(stdout, /groups +600 kept, \d+ items from before/)
      const after = yield* numbersIn(`${cwd}/data/repeat.jsonl`)
      assert.isBelow(before.length, 600)
      assert.deepStrictEqual(
        after,
        Array.from({ length: 600 }, (_, index) => index)
      )
    })
  )
})
