// fingers.ts: which finger turns a joint. The first one to touch a handle does, and those that follow change nothing until it is
// lifted; two fingers elsewhere belong to the camera, also where the second comes down on a handle.

import type { TransformControls } from 'three/addons/controls/TransformControls.js';

export function firstFingerTurns(pane: HTMLElement, gizmo: TransformControls): void {
  const guard = (event: PointerEvent) => {
    if (gizmo.dragging) {
      if (!event.isPrimary) event.stopImmediatePropagation();
    } else if (event.type === 'pointerdown') gizmo.enabled = event.isPrimary;
  };
  for (const type of ['pointerdown', 'pointermove', 'pointerup'] as const) pane.addEventListener(type, guard, { capture: true });
}
