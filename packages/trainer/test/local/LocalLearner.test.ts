import { Effect, Layer } from "effect"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as LocalLearner from "../../src/local/LocalLearner.ts"
import * as LearnerContract from "../learn/LearnerContract.ts"
import { model } from "../run/ToyTraining.ts"

const versions: Array<number> = []

LearnerContract.suite("this machine", {
  layer: LocalLearner.layer({
    model,
    publish: ({ version }) => Effect.sync(() => void versions.push(version))
  }).pipe(Layer.provide(SharedOrt.layer)),
  tolerance: 0,
  learningRate: 0.01,
  published: Effect.sync(() => versions)
})
