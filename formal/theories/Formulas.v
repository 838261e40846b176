(* The formulas of graphveil/spec/sensitivity.py and graphveil/spec/quantization.py, in integers: each is the square of
   a sensitivity, of which the program takes the root, rounded up. Lists are what the program is given, column by column.
   This file needs nothing but Coq's integers, so that the formulas can be computed. *)
From Coq Require Import ZArith List.
Import ListNotations.
Local Open Scope Z_scope.

Definition sum (l : list Z) : Z := fold_right Z.add 0 l.
Definition largest (l : list Z) : Z := fold_right Z.max 0 l.
Definition sum_of_squares (l : list Z) : Z := sum (map (fun x => x ^ 2) l).

(* How far a row of the ball can be from a point, at most; both roots rounded up. *)
Definition distance_in_ball (row_square : Z) (point : list Z) : Z :=
  Z.sqrt row_square + 1 + Z.sqrt (sum_of_squares point) + 1.

(* ------------------------------------------------------------------ one person replaced; person: rows per person *)
Definition moment_square (total_square person : Z) : Z := 2 * (person * total_square) ^ 2.

Definition mean_square (widths weights : list Z) (row_square person : Z) : Z :=
  person ^ 2 * Z.min (sum (map (fun '(width, weight) => (weight * width) ^ 2) (combine widths weights)))
                     (4 * largest weights ^ 2 * row_square).

Definition square_square (reaches weights centre : list Z) (row_square person : Z) : Z :=
  person ^ 2 * Z.min (sum (map (fun '(reach, weight) => (weight * reach ^ 2) ^ 2) (combine reaches weights)))
                     (2 * (largest weights * distance_in_ball row_square centre ^ 2) ^ 2).

Definition histogram_square (person : Z) : Z := 2 * person ^ 2.
Definition cell_square (columns levels person : Z) : Z := 2 * columns * levels * person ^ 2.
Definition sign_square (columns person : Z) : Z := 4 * person ^ 2 * ((columns + 1) ^ 2 / 4).
Definition weight_square (person : Z) : Z := person ^ 2.

(* ------------------------------------------------------------------ one person more, or less *)
Definition added_moment_square (total_square person : Z) : Z := (person * total_square) ^ 2.

Definition added_mean_square (reaches weights middle : list Z) (row_square person : Z) : Z :=
  person ^ 2 * Z.min (sum (map (fun '(reach, weight) => (weight * reach) ^ 2) (combine reaches weights)))
                     ((largest weights * distance_in_ball row_square middle) ^ 2).

Definition added_square_square (reaches weights centre : list Z) (row_square person : Z) : Z :=
  person ^ 2 * Z.min (sum (map (fun '(reach, weight) => (weight * reach ^ 2) ^ 2) (combine reaches weights)))
                     ((largest weights * distance_in_ball row_square centre ^ 2) ^ 2).

Definition added_count_square (person : Z) : Z := person ^ 2.
Definition added_cell_square (columns levels person : Z) : Z := columns * levels * person ^ 2.

(* ------------------------------------------------------------------ lattices of rows of p columns *)
Definition box_levels (room blocks : Z) : Z := Z.sqrt (room / blocks).
Definition ball_radius (room p : Z) : Z := Z.sqrt room - Z.sqrt p / 2 - 2.
