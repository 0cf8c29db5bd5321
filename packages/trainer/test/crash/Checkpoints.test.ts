/** A trainer that is killed while it saves. */
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import type * as TrainerState from "../../src/checkpoint/TrainerState.ts"
import * as Samples from "../checkpoint/Samples.ts"

const program = fileURLToPath(new URL("../checkpoint/saveForever.ts", import.meta.url))

const stateOf = (step: number): TrainerState.TrainerState => ({
  ...Samples.stateOf(step),
  weights: { engine: "local", path: "trainer_state.safetensors" }
})

/**
 * Saves in a process that is killed while it writes the checkpoint after the `saves`-th; the last step that was durable
 * before.
 */
const killedWhileSaving = (target: string, from: number, saves: number) =>
  Effect.callback<number>((resume) => {
    const child = spawn(process.execPath, ["--conditions=atropos-src", program, target, String(from)], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    let last = from - 1
    createInterface(child.stdout).on("line", (line) => {
      last = Number(line)
      // At some moment of the next one, a different one each time.
      if (last === from + saves - 1) setTimeout(() => child.kill("SIGKILL"), (from * 7) % 13)
    })
    child.once("exit", () => resume(Effect.succeed(last)))
    return Effect.sync(() => child.kill("SIGKILL"))
  })

layer(NodeServices.layer, { excludeTestServices: true })("a trainer killed while it saves", (it) => {
  it.effect("always leaves a whole checkpoint, the last durable one or the one after it", () =>
    Effect.gen(function* () {
      const target = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
      let from = 1
      for (let round = 0; round < 3; round++) {
        const last = yield* killedWhileSaving(target, from, 3 + round)
        assert.isAtLeast(last, from + 2 + round)
        const { newest: found } = yield* Samples.newest(target)
        assert.include([last, last + 1], found?.state.step)
        const step = found!.state.step
        assert.deepStrictEqual(found!.state, stateOf(step))
        assert.deepStrictEqual(found!.opened, Samples.snapshotOf(step))
        from = step + 1
      }
    })
  )
})
