/** Navigates from a point of a chart. */
import { useLocation } from "wouter"
import type * as Curves from "../chart/Curves.ts"
import * as OfPoint from "../evaluation/OfPoint.ts"
import * as Guilty from "../health/Guilty.ts"
import { evaluationPath } from "../route/Location.ts"
import { useSource } from "../state/SourceContext.tsx"
import { useHasSteps } from "../state/useHasSteps.ts"

/**
 * Opens what is behind a point: of an evaluation its samples, if the service has them; of others the groups of their
 * step, if groups have steps.
 */
export const usePick = (): ((picked: Curves.Picked) => void) => {
  const { evaluations } = useSource()
  const hasSteps = useHasSteps()
  const [, navigate] = useLocation()
  return (picked) => {
    const toGroups = () => {
      const filter = Guilty.ofPoint(picked.metric, picked.source, picked.step)
      if (hasSteps(picked.run)) navigate(Guilty.address(picked.run, filter))
    }
    if (!OfPoint.isEvaluated(picked.metric)) return toGroups()
    evaluations().then((all) => {
      const evaluation = OfPoint.find(all, picked)
      if (evaluation === undefined) toGroups()
      else navigate(evaluationPath(evaluation.id))
    }, toGroups)
  }
}
