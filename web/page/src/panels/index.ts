import type { Panel } from '../app';
import { look } from './look';

export const panels: Panel[] = [look];
