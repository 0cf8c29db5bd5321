/** Tests the rollout reader of a store, on any database. */
import { layer as layerOf } from "@effect/vitest"
import type { Layer } from "effect"
import type * as RolloutReader from "../../src/store/RolloutReader.ts"
import type * as TrajectoryStore from "../../src/store/TrajectoryStore.ts"
import { activities } from "./ActivityTest.ts"
import { distributions } from "./DistributionTest.ts"
import { readings } from "./ReadingTest.ts"
import { searches } from "./SearchTest.ts"

export const suite = <E>(
  name: string,
  layer: Layer.Layer<TrajectoryStore.TrajectoryStore | RolloutReader.RolloutReader, E>
) =>
  layerOf(layer)(name, (it) => {
    searches(it)
    readings(it)
    activities(it)
    distributions(it)
  })
