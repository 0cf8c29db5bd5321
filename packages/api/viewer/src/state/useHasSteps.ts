/** Reports if groups of a run can be selected by step: those of files may have none. */
import { useSource } from "./SourceContext.tsx"
import { useRuns } from "./useRun.tsx"

export const useHasSteps = (): ((run: string) => boolean) => {
  const { hasService } = useSource()
  const runs = useRuns().runs.value ?? []
  return (run) => hasService || runs.some(({ current_step: step, name }) => name === run && step > 0)
}
