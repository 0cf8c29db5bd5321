/** Forwards touches and clicks to a chart: uPlot only handles mouse movement. */

/** A horizontal touch moves the crosshair. */
export const followTouch = (over: HTMLElement): (() => void) => {
  const move = ({ clientX, clientY, pointerType }: PointerEvent) => {
    if (pointerType === "mouse") return
    over.dispatchEvent(new MouseEvent("mousemove", { clientX, clientY }))
  }
  const end = ({ pointerType }: PointerEvent) => {
    if (pointerType !== "mouse") over.dispatchEvent(new MouseEvent("mouseleave"))
  }
  over.addEventListener("pointermove", move)
  over.addEventListener("pointercancel", end)
  return () => {
    over.removeEventListener("pointermove", move)
    over.removeEventListener("pointercancel", end)
  }
}

/** Max pixels a mouse may move during a click. */
const still = 5

/** Mouse clicks without a drag; a touch reads values, and the legend has links. */
export const followClicks = (over: HTMLElement, onClick: (left: number, top: number) => void): (() => void) => {
  let began: { readonly x: number; readonly y: number } | null = null
  const down = ({ button, clientX, clientY, pointerType }: PointerEvent) => {
    began = pointerType === "mouse" && button === 0 ? { x: clientX, y: clientY } : null
  }
  const up = ({ clientX, clientY }: PointerEvent) => {
    if (began === null || Math.hypot(clientX - began.x, clientY - began.y) > still) return
    const { left, top } = over.getBoundingClientRect()
    onClick(clientX - left, clientY - top)
  }
  over.addEventListener("pointerdown", down)
  over.addEventListener("pointerup", up)
  return () => {
    over.removeEventListener("pointerdown", down)
    over.removeEventListener("pointerup", up)
  }
}
