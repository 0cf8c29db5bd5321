/** The keys that are in force on the page behind it. */
import { Modal } from "../ui/Modal.tsx"
import { useListedShortcuts } from "../ui/useShortcuts.tsx"

const names: { readonly [key: string]: string } = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  Escape: "Esc",
  " ": "Space"
}

/** What holds everywhere comes last. */
const byPlace = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  Number(a === "Everywhere") - Number(b === "Everywhere")

export const Help = ({ onClose }: { readonly onClose: () => void }) => (
  <Modal title="Keyboard" className="help" onClose={onClose}>
    {[...Map.groupBy(useListedShortcuts(), ({ scope }) => scope)].toSorted(byPlace).map(([scope, listed]) => (
      <section key={scope}>
        <h3>{scope}</h3>
        <dl>
          {listed
            .flatMap(({ entries }) => entries)
            .map(({ keys, label }) => (
              <div key={label} style={{ display: "contents" }}>
                <dt>
                  {keys.map((key) => (
                    <kbd key={key}>{names[key] ?? key}</kbd>
                  ))}
                </dt>
                <dd>{label}</dd>
              </div>
            ))}
        </dl>
      </section>
    ))}
  </Modal>
)
