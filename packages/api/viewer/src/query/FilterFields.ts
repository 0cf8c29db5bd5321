/** Fields of the group list's filter and order. */
import type * as RolloutOrder from "@atropos/core/service/api/RolloutOrder"
import type { DistributionQuery, RolloutState } from "../source/Wire.ts"

export type Sort = RolloutOrder.Sort
export type Measure = DistributionQuery["measure"]

export interface Filter {
  /** Only the newest run of the name, as in curves: a name may have had several. */
  readonly isNewestRun: boolean
  readonly environment: string | null
  /** The stable id of an item. */
  readonly item: string | null
  readonly stepFrom: number | null
  readonly stepTo: number | null
  readonly scoreFrom: number | null
  readonly scoreTo: number | null
  readonly text: string
  readonly state: RolloutState | null
  readonly bestTo: number | null
  readonly bestFrom: number | null
  /** Bounds of the group's score range (highest minus lowest). */
  readonly disagreementFrom: number | null
  readonly disagreementTo: number | null
  /** Bounds of the standard deviation of its scores. */
  readonly deviationFrom: number | null
  readonly deviationTo: number | null
  /** Bounds of the mean answer length, in trained tokens. */
  readonly lengthFrom: number | null
  readonly lengthTo: number | null
  /** Bounds of the steps between sampling and batch. */
  readonly stalenessFrom: number | null
  readonly stalenessTo: number | null
  /** The first group of its item with a score above 0, after others without. */
  readonly isNewlySolved: boolean
  readonly hasToolErrors: boolean
  readonly isTruncated: boolean
  /** The reward component for `sort` "component" and its bounds. */
  readonly component: string | null
  readonly componentFrom: number | null
  readonly componentTo: number | null
  /** Only groups with a rollout whose score, advantage or length is within the bounds, those of a heat map cell. */
  readonly value: Measure | null
  readonly valueFrom: number | null
  /** Exclusive and inclusive upper bound. */
  readonly valueBelow: number | null
  readonly valueTo: number | null
  /** Null: newest first. */
  readonly sort: Sort | null
  readonly isAscending: boolean
}

export const none: Filter = {
  isNewestRun: false,
  environment: null,
  item: null,
  stepFrom: null,
  stepTo: null,
  scoreFrom: null,
  scoreTo: null,
  text: "",
  state: null,
  bestTo: null,
  bestFrom: null,
  disagreementFrom: null,
  disagreementTo: null,
  deviationFrom: null,
  deviationTo: null,
  lengthFrom: null,
  lengthTo: null,
  stalenessFrom: null,
  stalenessTo: null,
  isNewlySolved: false,
  hasToolErrors: false,
  isTruncated: false,
  component: null,
  componentFrom: null,
  componentTo: null,
  value: null,
  valueFrom: null,
  valueBelow: null,
  valueTo: null,
  sort: null,
  isAscending: false
}

export const states: ReadonlyArray<RolloutState> = ["buffered", "queued", "formed", "leased", "consumed"]
