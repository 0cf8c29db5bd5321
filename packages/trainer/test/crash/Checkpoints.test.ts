/** A trainer that is killed while it saves. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import type { KillPoint } from "../../../core/test/base/KillPoint.ts"
import * as ScriptProcess from "../../../core/test/base/ScriptProcess.ts"
import type * as TrainerState from "../../src/checkpoint/TrainerState.ts"
import * as Samples from "../checkpoint/Samples.ts"

const program = new URL("saveForever.ts", import.meta.url)

const stateOf = (step: number): TrainerState.TrainerState => ({
  ...Samples.stateOf(step),
  weights: { engine: "local", path: "trainer_state.safetensors" }
})

/** One life for each, in this order, and the steps that it has saved when it dies; two checkpoints are kept. */
const kills: ReadonlyArray<readonly [point: KillPoint, saved: number]> = [
  ["before weights 1", 0],
  ["after weights 3", 2],
  ["before name 1", 0],
  ["after name 2", 2],
  ["after old 1", 1]
]

layer(NodeServices.layer, { excludeTestServices: true })("a trainer killed while it saves", (it) => {
  it.effect("always leaves the last checkpoint that got its name, whole", () =>
    Effect.gen(function* () {
      const target = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
      let step = 0
      for (const [point, saved] of kills) {
        const { lines, signal } = yield* ScriptProcess.run(program, [target, step + 1, point])
        assert.strictEqual(signal, "SIGKILL", point)
        step += saved
        // What was told of is there.
        assert.isAtMost(Number(lines.at(-1) ?? 0), step)
        const { newest: found } = yield* Samples.newest(target)
        assert.deepStrictEqual(found?.state, step === 0 ? undefined : stateOf(step), point)
        assert.deepStrictEqual(found?.opened, step === 0 ? undefined : Samples.snapshotOf(step), point)
      }
    })
  )
})
