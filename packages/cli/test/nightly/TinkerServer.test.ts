/** A Tinker server killed under a run that trains on it: the run's parameters are those of a run without. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as TinyModel from "@atropos/trainer/model/TinyModel"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem, Path } from "effect"
import * as InProcess from "../InProcess.ts"
import * as Atropos from "../crash/Atropos.ts"
import type * as KillMoment from "../crash/KillMoment.ts"
import * as Ports from "../../../core/test/base/Ports.ts"

const steps = 12

/** One life of the server for each. */
const kills: ReadonlyArray<KillMoment.KillMoment> = [
  // All of a checkpoint is on the disk, and has no name.
  { of: "renamed", when: "before", what: /\/weights\/step-6-[^/]*$/ },
  // In the middle of a step.
  { of: "answered", when: "before", what: /^POST .*\/optim_step$/, nth: 2 },
  // The checkpoint is there, and the run does not know.
  { of: "renamed", when: "after", what: /\/weights\/step-9-[^/]*$/ }
]

const flags = {
  env: "sort-letters",
  loss: "sft",
  steps: String(steps),
  batch_size: "16",
  seed: "1",
  seq_len: "16",
  port: "0",
  policy_port: "0",
  threads: "1",
  checkpoint_interval: "3",
  "env.max_token_length": "8",
  "env.group_size": "4"
}

const words = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value])

/** The weights and moments of the last checkpoint, as the server wrote them. */
const lastSaved = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const files = yield* fs.readDirectory(folder, { recursive: true })
  const saved = files.filter(
    (file) => file.includes(`/weights/step-${steps}-`) && file.endsWith("trainer_state.safetensors")
  )
  assert.strictEqual(saved.length, 1, files.join("\n"))
  return yield* fs.readFile(join(folder, saved[0]!))
})

/** A run on a server that is killed at those moments, and started again each time. */
const trained = Effect.fnUntraced(function* (kills: ReadonlyArray<KillMoment.KillMoment>) {
  const { join } = yield* Path.Path
  const cwd = yield* InProcess.folder
  const model = TinyModel.make({ characters: "abcdefghij=", seed: 1, maxPositions: 16 })
  yield* model.write(join(cwd, "model"), model.initial)
  const port = yield* Ports.held
  const serving = ["tinker", "--model", "./model", "--port", String(port), "--threads", "1"]
  const start = InProcess.start(["up", ...words, "--engine", `tinker+http://localhost:${port}`, "--model", "./model"])
  let run: Effect.Success<typeof start> | undefined
  for (const killAt of kills) {
    const server = yield* Atropos.start(serving, { cwd, killAt })
    yield* server.says("Tinker's API for")
    run ??= yield* start
    yield* Effect.raceFirst(
      server.killed,
      Effect.flatMap(run.ended, ({ stderr, stdout }) => Effect.die(new Error(`the run has ended: ${stdout}${stderr}`)))
    )
  }
  const last = yield* InProcess.start(serving)
  yield* last.says(/Tinker's API for/)
  run ??= yield* start
  const { code, stderr, stdout } = yield* run.ended
  assert.strictEqual(code, 0, stdout + stderr)
  return { said: stdout + stderr, state: yield* lastSaved(join(cwd, ".atropos", "tinker")) }
}, Effect.scoped)

it.live("a server that is killed leaves the run's parameters as they would have been, bit for bit", () =>
  Effect.gen(function* () {
    const undisturbed = yield* trained([])
    const killed = yield* trained(kills)
    assert.include(killed.said, "returning to the last checkpoint")
    assert.deepStrictEqual(killed.state, undisturbed.state)
  }).pipe(Effect.provide(NodeServices.layer))
)
