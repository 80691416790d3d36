// icons.ts: 16 by 16, in the text colour.

const PATHS = {
  play: 'M4.5 2.8v10.4L13 8z',
  pause: 'M4 3h3v10H4zM9 3h3v10H9z',
  worst: 'M8 2l6.5 11.5h-13zM7.3 6.5l.2 3.6h1l.2-3.6zM8 12.3a.8.8 0 1 0 0-1.6.8.8 0 0 0 0 1.6z',
  dark: 'M8 1.5a6.5 6.5 0 1 0 6.5 6.5A5 5 0 0 1 8 1.5z',
  light: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM7.3.8h1.4v2.4H7.3zM7.3 12.8h1.4v2.4H7.3zM.8 7.3h2.4v1.4H.8zM12.8 7.3h2.4v1.4h-2.4zM2.4 3.4l1-1 1.7 1.7-1 1zM10.9 11.9l1-1 1.7 1.7-1 1zM12.6 2.4l1 1-1.7 1.7-1-1zM4.1 10.9l1 1-1.7 1.7-1-1z',
  help: 'M5.2 5.6A2.8 2.8 0 0 1 8 3a2.7 2.7 0 0 1 2.8 2.6c0 1.3-.7 1.9-1.5 2.5-.5.4-.6.6-.6 1.2v.4H7.2v-.6c0-1.1.5-1.6 1.2-2.1.6-.5.9-.8.9-1.4A1.3 1.3 0 0 0 8 4.4a1.3 1.3 0 0 0-1.3 1.2zM8 13a.95.95 0 1 0 0-1.9.95.95 0 0 0 0 1.9z',
  down: 'M3.5 6l4.5 4.5L12.5 6l-1-1L8 8.5 4.5 5z',
  close: 'M3.5 4.5l1-1L8 7l3.5-3.5 1 1L9 8l3.5 3.5-1 1L8 9l-3.5 3.5-1-1L7 8z',
  frame: 'M2 2h4v1.4H3.4V6H2zM10 2h4v4h-1.4V3.4H10zM2 10h1.4v2.6H6V14H2zM12.6 10H14v4h-4v-1.4h2.6z',
  undo: 'M6.2 2.6v3h3.3a4 4 0 0 1 0 8H5.2v-1.5h4.3a2.5 2.5 0 0 0 0-5H6.2v3L1.8 6.35z',
  redo: 'M9.8 2.6v3H6.5a4 4 0 0 0 0 8h4.3v-1.5H6.5a2.5 2.5 0 0 1 0-5h3.3v3l4.4-3.75z',
  ground: 'M4.6 3h6.8l3.6 10H1zM5.3 4.2l-.5 1.7h2.5l.1-1.7zM8.6 4.2l.1 1.7h2.5l-.5-1.7zM4.4 7.1l-.6 1.9h3.3l.1-1.9zM8.8 7.1l.1 1.9h3.3l-.6-1.9zM3.4 10.2l-.6 1.7H7l.1-1.7zM8.9 10.2l.1 1.7h4.2l-.6-1.7z',
  flat: 'M8 1.2l5.9 3.4v6.8L8 14.8l-5.9-3.4V4.6zM8 2.8L4.2 5 8 7.2 11.8 5zM3.5 6.2v4.4l3.8 2.2V8.4zM12.5 6.2L8.7 8.4v4.4l3.8-2.2z',
  share: 'M8 1.3l3.6 3.6-1 1-1.9-1.9v6H7.3v-6L5.4 5.9l-1-1zM3 8h1.4v4.9h7.2V8H13v6.3H3z',
  copy: 'M5.5 1.8h8v9h-2.6v3.4h-8.4v-9h3zM6.9 5.2h4v4.2h1.2V3.2H6.9zM3.9 6.6v6.2h5.6V6.6z',
} as const;

export type Icon = keyof typeof PATHS;

export function icon(name: Icon): SVGSVGElement {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(space, 'path');
  path.setAttribute('d', PATHS[name]);
  svg.append(path);
  return svg;
}
