/**
 * Shows one group: its rollouts side by side, or one by tokens or times. The address holds the selection
 * (`?rollout=2&view=tokens&token=40`).
 */
import { useMemo, useState } from "react"
import type { RouteComponentProps } from "wouter"
import { decode } from "../route/Location.ts"
import { useSearch, useSetSearch } from "../route/useHash.ts"
import type { AdvantageRecipe } from "../source/Wire.ts"
import { useRemote } from "../state/useRemote.ts"
import { useRuns } from "../state/useRun.tsx"
import { CopyButton, useCopied } from "../ui/Copy.tsx"
import { Empty, Failure, Loading } from "../ui/Note.tsx"
import { useTitle } from "../ui/useTitle.ts"
import { useShortcuts } from "../ui/useShortcuts.tsx"
import { Board } from "./Board.tsx"
import { ComparePage } from "./compare/ComparePage.tsx"
import { GroupBar, type GroupView } from "./GroupBar.tsx"
import { GroupHead } from "./GroupHead.tsx"
import { type Group, hasReasoning, jsonOfRollout, ordered, read, type Rollout } from "./model/Group.ts"
import * as Filter from "../query/Filter.ts"
import { Reading } from "./message/Reading.ts"
import { NoteKeys } from "../notes/NoteKeys.tsx"
import { TokenPage } from "./tokens/TokenPage.tsx"
import { WaterfallPage } from "./waterfall/WaterfallPage.tsx"

export const GroupPage = ({ params }: RouteComponentProps<{ readonly run: string; readonly id: string }>) => {
  const run = decode(params.run)
  const id = decode(params.id)
  useTitle(`Group ${id}`, run)
  const remote = useRemote(`${run}/${id}`, (source, signal) => source.rollout(run, id, signal))
  const stored = remote.isStale ? null : remote.value
  const recipe = useRuns().runs.value?.find(({ name }) => name === run)?.advantages ?? null
  const group = useMemo(() => (stored === null ? null : read(stored.group, recipe)), [stored, recipe])
  return (
    <div className="group">
      <GroupHead run={run} id={id} stored={stored} group={group} recipe={recipe} />
      {remote.error !== null && stored === null ? (
        <Failure error={remote.error} onRetry={remote.reload} />
      ) : stored === null ? (
        <Loading what="group" />
      ) : group === null ? (
        <Empty title="No sequences in this group">
          <CopyButton label="Copy stored JSON" text={() => JSON.stringify(stored)} />
        </Empty>
      ) : (
        <Rollouts key={`${run}/${id}`} run={run} id={id} group={group} raw={stored.group} recipe={recipe} />
      )}
    </div>
  )
}

const Rollouts = ({
  group,
  id,
  raw,
  recipe,
  run
}: {
  readonly run: string
  readonly id: string
  readonly group: Group
  readonly raw: unknown
  readonly recipe: AdvantageRecipe | null
}) => {
  const search = useSearch()
  const setSearch = useSetSearch()
  const rollouts = useMemo(() => ordered(group), [group])
  const named = Filter.number(search.get("rollout"))
  const place = rollouts.findIndex(({ index }) => index === named)
  const viewName = search.get("view")
  const view: GroupView =
    viewName === "tokens" || viewName === "compare" || viewName === "times" ? viewName : "messages"
  const isTokens = view === "tokens"
  const current = rollouts[Math.max(0, place)]!
  const [reading, setReading] = useState({ isSource: false, unfolds: false })
  const [copied, copyText] = useCopied()
  const reasons = useMemo(() => hasReasoning(group), [group])

  const choose = (place: number) => {
    const rollout = rollouts[Math.min(rollouts.length - 1, Math.max(0, place))]
    if (rollout !== undefined) setSearch({ rollout: rollout.index, token: null }, { replace: true })
  }
  const show = (view: GroupView) =>
    setSearch(
      view === "messages" ? { view: null, token: null, with: null } : { view, rollout: current.index, token: null }
    )
  const toggleSource = () => setReading((reading) => ({ ...reading, isSource: !reading.isSource }))
  const toggleReasoning = () => setReading((reading) => ({ ...reading, unfolds: !reading.unfolds }))

  useShortcuts("Rollouts", [
    {
      keys: isTokens ? ["j"] : ["j", "ArrowRight"],
      label: "next rollout",
      run: () => choose(place === -1 && !isTokens ? 0 : Math.max(0, place) + 1)
    },
    {
      keys: isTokens ? ["k"] : ["k", "ArrowLeft"],
      label: "previous rollout",
      run: () => choose(Math.max(0, place) - 1)
    },
    { keys: ["t"], label: "toggle tokens", run: () => show(isTokens ? "messages" : "tokens") },
    {
      keys: ["d"],
      label: "toggle comparison",
      run: () => show(view === "compare" ? "messages" : "compare")
    },
    {
      keys: ["w"],
      label: "toggle times",
      run: () => show(view === "times" ? "messages" : "times")
    },
    {
      keys: ["c"],
      label: "copy the rollout as JSON",
      run: () => copyText(JSON.stringify(jsonOfRollout(raw, current.index)))
    }
  ])
  useShortcuts(
    "Rollouts",
    [
      { keys: ["o"], label: "toggle reasoning", run: toggleReasoning },
      { keys: ["s"], label: "toggle raw text", run: toggleSource }
    ],
    view === "messages"
  )

  return (
    <>
      <NoteKeys group={id} rollout={current.index} />
      <GroupBar
        rollouts={rollouts}
        current={place === -1 && !isTokens && view !== "times" ? null : current.index}
        view={view}
        onView={show}
        reading={reading}
        onReasoning={reasons ? toggleReasoning : null}
        onSource={toggleSource}
        onChoose={choose}
        raw={raw}
        copied={copied}
      />
      <Shown
        run={run}
        id={id}
        group={group}
        raw={raw}
        recipe={recipe}
        rollouts={rollouts}
        place={place}
        view={view}
        reading={reading}
      />
    </>
  )
}

interface ShownProps {
  readonly run: string
  readonly id: string
  readonly group: Group
  readonly raw: unknown
  readonly recipe: AdvantageRecipe | null
  /** In the order shown. */
  readonly rollouts: ReadonlyArray<Rollout>
  /** Index of the rollout in the address; -1: none. */
  readonly place: number
  readonly view: GroupView
  readonly reading: { readonly isSource: boolean; readonly unfolds: boolean }
}

const Shown = ({ group, id, place, raw, reading, recipe, rollouts, run, view }: ShownProps) => {
  const search = useSearch()
  const setSearch = useSetSearch()
  const current = rollouts[Math.max(0, place)]!
  switch (view) {
    case "tokens":
      return (
        <TokenPage
          key={current.index}
          run={run}
          group={id}
          rollout={current}
          token={Filter.number(search.get("token"))}
          onToken={(token) => setSearch({ token, rollout: current.index }, { replace: true })}
        />
      )
    case "times":
      return (
        <WaterfallPage
          id={id}
          rollouts={rollouts}
          current={current}
          onChoose={(index) => setSearch({ rollout: index, token: null }, { replace: true })}
        />
      )
    case "compare":
      return (
        <ComparePage
          run={run}
          id={id}
          group={group}
          rollouts={rollouts}
          left={Filter.number(search.get("rollout"))}
          right={Filter.number(search.get("with"))}
          onChoose={(sides) => setSearch(sides, { replace: true })}
        />
      )
    case "messages":
      return (
        <Reading.Provider value={reading}>
          <Board
            run={run}
            id={id}
            raw={raw}
            group={group}
            recipe={recipe}
            rollouts={rollouts}
            current={place === -1 ? null : place}
          />
        </Reading.Provider>
      )
  }
}
