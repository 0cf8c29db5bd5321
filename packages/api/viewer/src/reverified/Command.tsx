/** Shows the command that re-scores a run's rollouts and opens the result here. */
import { useSource } from "../state/SourceContext.tsx"
import { useRemote } from "../state/useRemote.ts"
import { CopyButton } from "../ui/Copy.tsx"

export const Command = ({ run }: { readonly run: string }) => {
  const { hasService } = useSource()
  const { value: names } = useRemote(`environment names ${run}`, (source, signal) =>
    source.environmentNames(run, signal)
  )
  const [name = "NAME", ...others] = names ?? []
  // The service numbers environments of the same name.
  const environment = others.length > 0 ? "NAME" : hasService ? name.replace(/_\d+$/, "") : name
  const command = `npx @atropos/cli reverify groups.jsonl --env ${environment} --page again.html --open`
  return (
    <>
      <p>
        {hasService
          ? "The viewer cannot run the environment. Re-score groups saved to a file (data_path_to_save_groups, or process) where its program is installed:"
          : "The viewer cannot run the environment. Re-score the file where its program is installed:"}
      </p>
      <pre>
        <code>{command}</code>
      </pre>
      <CopyButton label="Copy command" text={() => command} />
      <p>Nothing is sampled. The page it writes shows old and new scores, largest changes first.</p>
    </>
  )
}
