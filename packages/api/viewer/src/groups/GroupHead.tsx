/** Shows the group's id, links to the list and to its neighbours, and statistics of the group. */
import { Link, useLocation } from "wouter"
import { groupPath, groupsPath, reverifiedPath } from "../route/Location.ts"
import type * as Wire from "../source/Wire.ts"
import { useSource } from "../state/SourceContext.tsx"
import { Ago } from "../ui/Ago.tsx"
import { count, number, plural } from "../ui/Format.ts"
import { Icon } from "../ui/Icon.tsx"
import { useShortcuts } from "../ui/useShortcuts.tsx"
import * as AdvantageRule from "./model/AdvantageRule.ts"
import type { Group } from "./model/Group.ts"
import * as Remembered from "./list/Remembered.ts"
import { policyTitle } from "./RolloutHead.tsx"
import { Settings, Short } from "./Settings.tsx"

const shownOfItem = 16

export const GroupHead = ({
  group,
  id,
  recipe,
  run,
  stored
}: {
  readonly run: string
  readonly id: string
  readonly stored: Wire.Rollout | null
  readonly group: Group | null
  readonly recipe: Wire.AdvantageRecipe | null
}) => {
  const source = useSource()
  const [, navigate] = useLocation()
  const { newer, older } = Remembered.neighbours(run, id)
  const list = Remembered.addressOf(run) ?? groupsPath(run)
  const to = (other: string | null) => other !== null && navigate(groupPath(run, other))
  useShortcuts("Group", [
    { keys: ["Escape", "u"], label: "back to list", run: () => navigate(list) },
    { keys: ["n", "]"], label: "next group", run: () => to(older) },
    { keys: ["p", "["], label: "previous group", run: () => to(newer) }
  ])
  return (
    <div className="group-title">
      <Link className="button quiet small" href={list}>
        <Icon name="left" />
        Groups
      </Link>
      <h1>
        Group <span className="number">{id}</span>
      </h1>
      {(newer !== null || older !== null) && (
        <div className="neighbours">
          <button
            type="button"
            className="quiet small icon-button"
            aria-label="Previous group"
            title="Previous (p)"
            disabled={newer === null}
            onClick={() => to(newer)}
          >
            <Icon name="left" />
          </button>
          <button
            type="button"
            className="quiet small icon-button"
            aria-label="Next group"
            title="Next (n)"
            disabled={older === null}
            onClick={() => to(older)}
          >
            <Icon name="right" />
          </button>
        </div>
      )}
      {stored !== null && (
        <p className="group-facts number">
          {stored.environment !== null && <span>{stored.environment}</span>}
          {stored.item_id !== undefined && stored.item_id !== null && (
            <Link href={groupsPath(run, stored.item_id)} title="All groups of this item in the run">
              item {stored.item_id.slice(0, shownOfItem)}
            </Link>
          )}
          {group !== null && group.gold.length > 0 && (
            <span>
              expected <Short text={group.gold[0]!} />
            </span>
          )}
          {stored.step !== null && <span>step {stored.step}</span>}
          {stored.policy_step !== null && <span title={policyTitle}>policy {stored.policy_step}</span>}
          {source.hasService && <span>{stored.state}</span>}
          <span>{plural(stored.sequences, "rollout")}</span>
          <span>{count(stored.tokens)} tokens</span>
          {group?.mean !== null && group?.mean !== undefined && (
            <span>
              mean {number(group.mean, 3)} ± {number(group.std ?? 0, 3)}
            </span>
          )}
          {group !== null && <span title={AdvantageRule.formula(recipe)}>{AdvantageRule.name(recipe)}</span>}
          {group !== null && <Settings of={[group.generationParams, group.groupOverrides]} />}
          {source.isLive && (
            <Link href={reverifiedPath(run)} title="Compare with scores of the current environment">
              Re-score…
            </Link>
          )}
          <Ago at={stored.created_at} />
        </p>
      )}
    </div>
  )
}
