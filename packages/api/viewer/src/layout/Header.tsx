/** Shows brand, run chooser, pages, theme and help. */
import { Link, useLocation } from "wouter"
import {
  evaluationsPath,
  format,
  groupsPath,
  hackingPath,
  notesPath,
  reverifiedPath,
  runPath,
  runsPath,
  servicePath
} from "../route/Location.ts"
import { useSource } from "../state/SourceContext.tsx"
import { useRemote } from "../state/useRemote.ts"
import { useRuns } from "../state/useRun.tsx"
import { type Theme, useTheme } from "../state/useTheme.ts"
import { useReverified } from "../state/useReverified.ts"
import { Icon, type IconName } from "../ui/Icon.tsx"

export const Header = ({ onHelp }: { readonly onHelp: () => void }) => {
  const source = useSource()
  const { run, runs } = useRuns()
  const [path] = useLocation()
  return (
    <header className="header">
      <Link className="brand" href={source.hasMetrics ? runPath(run) : groupsPath(run)} aria-label="Atropos">
        <Icon name="brand" />
        <span>Atropos</span>
      </Link>
      <RunChooser />
      <nav aria-label="Pages">
        {source.hasMetrics && <PageLink href={runPath(run)} label="Run" isHere={path === "/"} />}
        {source.hasMetrics && (runs.value?.length ?? 0) > 1 && (
          <PageLink href={runsPath(run)} label="Runs" isHere={path === "/runs"} />
        )}
        <PageLink href={groupsPath(run)} label="Groups" isHere={path.startsWith("/groups")} />
        <EvaluationsLink run={run} isHere={path.startsWith("/evaluations")} />
        <ReverifiedLink isHere={path === "/reverified"} />
        <PageLink href={hackingPath(run)} label="Hacking" isHere={path === "/hacking"} />
        {source.notes !== null && <PageLink href={notesPath(run)} label="Notes" isHere={path === "/notes"} />}
        {source.hasService && <PageLink href={servicePath(run)} label="Service" isHere={path === "/service"} />}
      </nav>
      <div className="header-tools">
        <ThemeSwitch />
        <button
          type="button"
          className="quiet icon-button"
          aria-label="Help: keyboard"
          title="Keyboard (?)"
          onClick={onHelp}
        >
          <Icon name="help" />
        </button>
      </div>
    </header>
  )
}

const PageLink = (props: { readonly href: string; readonly label: string; readonly isHere: boolean }) => (
  <Link href={props.href} aria-current={props.isHere ? "page" : undefined}>
    {props.label}
  </Link>
)

/** Files rarely have evaluations. */
const EvaluationsLink = ({ isHere, run }: { readonly run: string | null; readonly isHere: boolean }) => {
  const { hasService } = useSource()
  const { value } = useRemote(hasService ? null : "evaluations", (source, signal) => source.evaluations(signal))
  return hasService || (value !== null && value.length > 0) ? (
    <PageLink href={evaluationsPath(run)} label="Evaluations" isHere={isHere} />
  ) : null
}

/** Only in pages written by `reverify`. */
const ReverifiedLink = ({ isHere }: { readonly isHere: boolean }) => {
  const { run } = useRuns()
  const { value } = useReverified(run)
  return value === null ? null : <PageLink href={reverifiedPath(run)} label="Re-scored" isHere={isHere} />
}

const RunChooser = () => {
  const { run, runs } = useRuns()
  const [path, navigate] = useLocation()
  const names = runs.value?.map(({ name }) => name) ?? []
  const visible = run === null || names.includes(run) ? names : [run, ...names]
  if (visible.length === 0) return null
  const choose = (name: string) =>
    navigate(
      path.startsWith("/groups/")
        ? groupsPath(name)
        : path.startsWith("/evaluations/")
          ? evaluationsPath(name)
          : format(path, { run: name })
    )
  return (
    <label className="run-chooser">
      <span className="sr-only">Run</span>
      <select value={run ?? ""} onChange={(event) => choose(event.target.value)}>
        {visible.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

const themes: { readonly [T in Theme]: { readonly icon: IconName; readonly next: Theme; readonly label: string } } = {
  system: { icon: "system", next: "light", label: "Theme: system" },
  light: { icon: "sun", next: "dark", label: "Theme: light" },
  dark: { icon: "moon", next: "system", label: "Theme: dark" }
}

const ThemeSwitch = () => {
  const [theme, setTheme] = useTheme()
  const { icon, label, next } = themes[theme]
  return (
    <button type="button" className="quiet icon-button" aria-label={label} title={label} onClick={() => setTheme(next)}>
      <Icon name={icon} />
    </button>
  )
}
