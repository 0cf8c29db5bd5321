/** Tests the contract of every trajectory store, on any database. */
import { layer as layerOf } from "@effect/vitest"
import type { Layer } from "effect"
import type * as RolloutReader from "../../src/store/RolloutReader.ts"
import type * as TrajectoryStore from "../../src/store/TrajectoryStore.ts"
import { claims } from "./ClaimTest.ts"
import { runs } from "./RunTest.ts"
import { submissions } from "./SubmitTest.ts"
import { waits } from "./WaitTest.ts"

export const suite = <E>(
  name: string,
  layer: Layer.Layer<TrajectoryStore.TrajectoryStore | RolloutReader.RolloutReader, E>
) =>
  layerOf(layer)(name, (it) => {
    runs(it)
    submissions(it)
    claims(it)
    waits(it)
  })
