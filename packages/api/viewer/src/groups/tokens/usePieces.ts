/** Loads the text of a rollout's tokens, as far as the source knows it. */
import { type Remote, useRemote } from "../../state/useRemote.ts"
import type { Pieces } from "../../source/Wire.ts"
import type { Rollout } from "../model/Group.ts"

export const usePieces = (run: string, group: string, rollout: Rollout): Remote<Pieces> =>
  useRemote(`pieces ${run} ${group} ${rollout.index} ${rollout.tokens.length}`, (source, signal) =>
    source.pieces(run, [...new Set(rollout.tokens.concat(rollout.teacher?.ids.flat() ?? []))], signal)
  )
