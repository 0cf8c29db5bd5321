/**
 * Shows one evaluation, or two joined by item: metrics, the list of items, and one item in full. The address holds the
 * selection (`?with=7&show=broken&item=…`).
 */
import * as Comparison from "@atropos/core/evaluation/Comparison"
import { useEffect, useMemo, useRef } from "react"
import type { RouteComponentProps } from "wouter"
import { decode } from "../route/Location.ts"
import { useSearch, useSetSearch } from "../route/useHash.ts"
import type * as Wire from "../source/Wire.ts"
import { useRemote } from "../state/useRemote.ts"
import { Empty, Failure, Loading } from "../ui/Note.tsx"
import { useTitle } from "../ui/useTitle.ts"
import { useShortcuts } from "../ui/useShortcuts.tsx"
import { EvaluationHead } from "./EvaluationHead.tsx"
import { ItemFilter } from "./ItemFilter.tsx"
import { ItemList } from "./ItemList.tsx"
import * as Items from "./Items.ts"
import { SampleView } from "./SampleView.tsx"
import { titlesOf } from "./Title.ts"
import "./evaluation.css"

interface Loaded {
  readonly row: Wire.EvaluationRow
  readonly items: Items.Items
}

const useEvaluation = (id: string | null) =>
  useRemote(id === null ? null : `evaluation:${id}`, async (source, signal): Promise<Loaded> => {
    const [row, samples] = await Promise.all([
      source.evaluation(id ?? "", signal),
      source.evaluationSamples(id ?? "", signal)
    ])
    return { row, items: Items.group(samples) }
  })

export const EvaluationPage = ({ params }: RouteComponentProps<{ readonly id: string }>) => {
  const id = decode(params.id)
  const other = useSearch().get("with")
  const [first, second] = [useEvaluation(id), useEvaluation(other)]
  useTitle(other === null ? "Evaluation" : "Two evaluations", other === null ? id : `${id} and ${other}`)
  for (const remote of [first, second]) {
    if (remote.error !== null && remote.value === null) return <Failure error={remote.error} onRetry={remote.reload} />
  }
  if (first.value === null || first.isStale) return <Loading what="evaluation" />
  if (other !== null && (second.value === null || second.isStale)) return <Loading what="evaluation" />
  return <Evaluation key={`${id}/${other}`} before={first.value} after={second.value} />
}

const Evaluation = ({ after, before }: { readonly before: Loaded; readonly after: Loaded | null }) => {
  const search = useSearch()
  const setSearch = useSetSearch()
  const searchField = useRef<HTMLInputElement>(null)
  const { run } = before.row
  const isOfOther = run !== null && search.get("run") !== run
  // Switches the header to the evaluation's run.
  useEffect(() => {
    if (isOfOther) setSearch({ run }, { replace: true })
  })
  const all = useMemo(() => Items.join(before.items, after?.items ?? null), [before, after])
  const comparison = useMemo(
    () => (after === null ? null : (Comparison.of(before.items, after.items) ?? null)),
    [before, after]
  )
  const show = search.get("show")
  const filter: Items.Filter = {
    show: Items.isShow(show) ? show : "all",
    category: search.get("category") ?? "",
    text: search.get("text") ?? ""
  }
  const { category, show: visible, text } = filter
  const items = useMemo(() => Items.select(all, { category, show: visible, text }), [all, category, visible, text])
  const named = search.get("item")
  const current = named === null ? -1 : items.findIndex(({ id }) => id === named)
  const item = all.find(({ id }) => id === named)
  const go = (to: number) => {
    const next = items[Math.min(items.length - 1, Math.max(0, to))]
    if (next !== undefined) setSearch({ item: next.id, sample: null }, { replace: true })
  }
  useShortcuts("Items", [
    { keys: ["j", "ArrowDown"], label: "next item", run: () => go(current + 1) },
    { keys: ["k", "ArrowUp"], label: "previous item", run: () => go(current - 1) },
    { keys: ["Escape"], label: "close the item", run: () => setSearch({ item: null, sample: null }) },
    { keys: ["/"], label: "search", run: () => searchField.current?.focus() }
  ])
  if (after !== null && comparison === null) {
    return (
      <Empty title="No items in common">
        <p>They evaluate different environments, suites or rows, or their samples were dropped.</p>
      </Empty>
    )
  }
  return (
    <div className={`evaluation${item === undefined ? "" : " has-item"}`}>
      <div className="evaluation-top">
        <EvaluationHead before={before} after={after} comparison={comparison} />
        <ItemFilter
          filter={filter}
          isComparison={after !== null}
          items={all}
          matching={items}
          name={`items of ${titlesOf(before.row, after?.row)}`}
          searchField={searchField}
          onChange={(changes) => setSearch(changes, { replace: true })}
        />
      </div>
      <ItemList
        items={items}
        current={current === -1 ? null : current}
        hasCategories={all.some(({ category }) => category !== null)}
        emptyText={all.length === 0 ? "No samples stored." : "No matching items."}
      />
      {item !== undefined && (
        <SampleView
          key={item.id}
          item={item}
          evaluations={after === null ? [before.row] : [before.row, after.row]}
          onClose={() => setSearch({ item: null, sample: null })}
        />
      )}
    </div>
  )
}
