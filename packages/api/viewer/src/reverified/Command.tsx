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
          ? "The environment is not at hand here. Where its program is, groups that were saved to a file (data_path_to_save_groups, or process) are scored again by"
          : "The environment is not at hand here. Where its program is, the file is scored again by"}
      </p>
      <pre>
        <code>{command}</code>
      </pre>
      <CopyButton label="Copy the command" text={() => command} />
      <p>Nothing is sampled. The page that it writes has old scores beside today's, what changed most first.</p>
    </>
  )
}
