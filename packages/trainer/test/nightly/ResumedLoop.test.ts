/** A closed loop that is stopped and resumed makes the same weights to the bit: on long rows, of a mixture too. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as PretrainedModel from "../../src/model/PretrainedModel.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as MixtureFolder from "../model/MixtureFolder.ts"
import * as LongRows from "../run/LongRows.ts"
import { guessing, resume, services, shape, turns } from "../run/Resuming.ts"

const long = { trainer: LongRows.settings, graph: LongRows.graph, rollOut: turns }

describe("a closed loop that is stopped and resumed", () => {
  it.live("does so on long rows, whose second turns begin in the prefix cache", () =>
    Effect.gen(function* () {
      const model = TinyModel.make({ ...shape, maxPositions: LongRows.longest })
      const { cachedTokens, guessedTokens, runs } = yield* resume({ ...long, model }, guessing)
      assert.isAbove(cachedTokens, 0)
      assert.isAbove(guessedTokens, 0)
      LongRows.check(runs, { attention: 1, dense: 1, head: "chunks" })
    }).pipe(Effect.provide(services))
  )

  it.live("does so with the experts that were passed at sampling (router replay), on such rows", () =>
    Effect.gen(function* () {
      const root = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const folder = yield* MixtureFolder.write(`${root}/model`, { max_position_embeddings: LongRows.longest })
      const model = yield* PretrainedModel.load(folder, { trains: "all", seed: 1 })
      const kind = { ...long, model, trainer: { ...long.trainer, routerReplay: true } }
      const { cachedTokens, runs } = yield* resume(kind, guessing)
      assert.isAbove(cachedTokens, 0)
      LongRows.check(runs, { attention: 2, dense: 1, head: "chunks" })
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})
