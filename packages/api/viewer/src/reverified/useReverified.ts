import { type Remote, useRemote } from "../state/useRemote.ts"
import type * as Wire from "../source/Wire.ts"

/** What scoring a run's groups again came to; its value is null where nobody did. */
export const useReverified = (run: string | null): Remote<Wire.Reverified | null> =>
  useRemote(run === null ? null : `reverified ${run}`, (source) => source.reverified(run ?? ""))
