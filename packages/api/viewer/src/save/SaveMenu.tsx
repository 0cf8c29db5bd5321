/** Saves a table or chart: its values as CSV or JSON lines, its appearance as PNG. */
import * as Save from "./Save.ts"
import { drawTable } from "./TablePicture.ts"
import "./save.css"

interface SaveMenuProps {
  /** Name of the files, and in the menu's label. */
  readonly name: string
  /** Called only on saving. */
  readonly table: () => Save.Table | Promise<Save.Table>
  /** A custom picture; by default the table is drawn. */
  readonly picture?: () => HTMLCanvasElement | null | Promise<HTMLCanvasElement | null>
}

export const SaveMenu = ({ name, picture, table }: SaveMenuProps) => {
  const save = (kind: "csv" | "jsonl" | "png") => async () => {
    if (kind === "png") {
      const drawn = picture === undefined ? drawTable(name, await table()) : await picture()
      if (drawn !== null) Save.picture(`${name}.png`, drawn)
      return
    }
    const all = await table()
    Save.text(`${name}.${kind}`, kind === "csv" ? Save.csv(all.columns, all.rows) : Save.jsonLines(Save.objects(all)))
  }
  return (
    <span className="save-menu" role="group" aria-label={`Save ${name}`}>
      {(["csv", "jsonl", "png"] as const).map((kind) => (
        <button
          key={kind}
          type="button"
          className="quiet small"
          aria-label={`${kind.toUpperCase()} of ${name}`}
          onClick={() => void save(kind)()}
        >
          {kind}
        </button>
      ))}
    </span>
  )
}
