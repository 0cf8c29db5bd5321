import { type Remote, useRemote } from "./useRemote.ts"
import type * as Wire from "../source/Wire.ts"

/** The re-scoring results of a run; null if none. */
export const useReverified = (run: string | null): Remote<Wire.Reverified | null> =>
  useRemote(run === null ? null : `reverified ${run}`, (source) => source.reverified(run ?? ""))
