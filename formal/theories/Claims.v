(* What is checked: every statement in full, in the words of Definitions.v and with the bounds of Formulas.v; every
   proof refers to another file. The bounds stand for the functions of graphveil/spec/sensitivity.py, squared. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ssrZ.
From Graphveil Require Formulas Vectors Hull Moments Weights Rounding Shares Integers Released.
From Graphveil Require Import Definitions.
Import Order.Theory GRing.Theory Num.Theory.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

(* ================================================================== moments: theorems 1, 2, 8, 13 and 14 *)
(* Rows with a constant appended (0: without), the corner left out, the trace released. Of labels the columns are
   part of the row, `row_square` is `total_square`, and the constant is 0. *)
Theorem moments_of_rows_replaced p row_square constant : 0 <= row_square ->
  moments_rows_replaced p row_square constant (Formulas.moment_square (row_square + constant ^+ 2)).
Proof. exact: Released.rows_moments_replaced. Qed.

Theorem moments_of_person_replaced p row_square constant : 0 <= row_square ->
  moments_person_replaced p row_square constant (Formulas.moment_square (row_square + constant ^+ 2)).
Proof. exact: Released.person_moments_replaced. Qed.

Theorem moments_of_rows_added p row_square constant : 0 <= row_square ->
  moments_rows_added p row_square constant (Formulas.added_moment_square (row_square + constant ^+ 2)).
Proof. exact: Released.rows_moments_added. Qed.

Theorem moments_of_person_added p row_square constant : 0 <= row_square ->
  moments_person_added p row_square constant (Formulas.added_moment_square (row_square + constant ^+ 2)).
Proof. exact: Released.person_moments_added. Qed.

(* The bound is attained by two orthogonal rows without the trace; with the trace, one row against none attains it
   too. *)
Theorem moments_attained (B : Z) :
  Moments.frobenius (fun i j => Moments.products (Moments.axis B ord0) i j - Moments.products (Moments.axis B ord_max) i j)
    (fun=> 0) = 2%:R * (B ^+ 2) ^+ 2.
Proof. exact: Released.attained. Qed.

Theorem trace_is_not_free (B : Z) :
  Moments.with_trace (Moments.products (Moments.axis B ord0)) (fun=> 0) = 2%:R * (B ^+ 2) ^+ 2.
Proof. exact: Released.trace_costs. Qed.

(* ================================================================== columns: theorems 10, 13 and 14 *)
Section Columns.
Variables (p c : nat) (which : 'I_c -> 'I_p) (low high : row p) (weight : 'I_c -> Z).
Variables (centre : row p) (reach : 'I_c -> Z) (row_square : Z).
Hypothesis given : columns_given which weight row_square.
Hypothesis window : window_given low high.
Let in_ball := in_ball row_square : row p -> Prop.
Let widths := listed (widths which low high).
Let weights := listed weight.

Theorem means_of_rows_replaced :
  rows_replaced (mean which low high weight) in_ball (Formulas.mean_square widths weights row_square).
Proof. exact: Integers.means_rows_replaced. Qed.

Theorem means_of_person_replaced :
  person_replaced (mean_from_origin which low high weight) in_ball (Formulas.mean_square widths weights row_square).
Proof. exact: Integers.means_person_replaced. Qed.

Hypothesis centred : centre_given which low high centre reach.
Let reaches := listed reach.
Let about := listed centre.

Theorem means_of_rows_added :
  rows_added (mean_about_centre which low high weight centre) in_ball
    (Formulas.added_mean_square reaches weights about row_square).
Proof. exact: Integers.means_rows_added. Qed.

Theorem means_of_person_added :
  person_added (mean_about_centre which low high weight centre) in_ball
    (Formulas.added_mean_square reaches weights about row_square).
Proof. exact: Integers.means_person_added. Qed.

Theorem squares_of_rows_replaced :
  rows_replaced (square_about_centre which low high weight centre) in_ball
    (Formulas.square_square reaches weights about row_square).
Proof. exact: Integers.squares_rows_replaced. Qed.

Theorem squares_of_person_replaced :
  person_replaced (square_about_centre which low high weight centre) in_ball
    (Formulas.square_square reaches weights about row_square).
Proof. exact: Integers.squares_person_replaced. Qed.

Theorem squares_of_rows_added :
  rows_added (square_about_centre which low high weight centre) in_ball
    (Formulas.added_square_square reaches weights about row_square).
Proof. exact: Integers.squares_rows_added. Qed.

Theorem squares_of_person_added :
  person_added (square_about_centre which low high weight centre) in_ball
    (Formulas.added_square_square reaches weights about row_square).
Proof. exact: Integers.squares_person_added. Qed.
End Columns.

(* ------------------------------------------------------------------ counts: a row is in at most one cell of each block *)
Theorem histogram_of_rows_replaced (bins : finType) :
  rows_replaced (@count [finType of unit] bins) (@anything _) Formulas.histogram_square.
Proof. exact: Released.histogram_rows_replaced. Qed.

Theorem histogram_of_person_replaced (bins : finType) :
  person_replaced (@count [finType of unit] bins) (@anything _) Formulas.histogram_square.
Proof. exact: Released.histogram_person_replaced. Qed.

Theorem histogram_of_rows_added (bins : finType) :
  rows_added (@count [finType of unit] bins) (@anything _) Formulas.added_count_square.
Proof. exact: Released.histogram_rows_added. Qed.

Theorem histogram_of_person_added (bins : finType) :
  person_added (@count [finType of unit] bins) (@anything _) Formulas.added_count_square.
Proof. exact: Released.histogram_person_added. Qed.

Section Cells.
Variables (columns levels : nat) (numbers : finType).
Let cells := @count [finType of 'I_columns * 'I_levels] numbers.

Theorem cells_of_rows_replaced :
  rows_replaced cells (@anything _) (Formulas.cell_square (Z.of_nat columns) (Z.of_nat levels)).
Proof. exact: Released.cells_rows_replaced. Qed.

Theorem cells_of_person_replaced :
  person_replaced cells (@anything _) (Formulas.cell_square (Z.of_nat columns) (Z.of_nat levels)).
Proof. exact: Released.cells_person_replaced. Qed.

Theorem cells_of_rows_added :
  rows_added cells (@anything _) (Formulas.added_cell_square (Z.of_nat columns) (Z.of_nat levels)).
Proof. exact: Released.cells_rows_added. Qed.

Theorem cells_of_person_added :
  person_added cells (@anything _) (Formulas.added_cell_square (Z.of_nat columns) (Z.of_nat levels)).
Proof. exact: Released.cells_person_added. Qed.
End Cells.

(* ------------------------------------------------------------------ signs: which values are there; one for the row *)
Theorem signs_of_rows_replaced columns :
  rows_replaced (@sign_pair columns.+1) (@anything _) (Formulas.sign_square (Z.of_nat columns)).
Proof. exact: Released.signs_rows_replaced. Qed.

Theorem signs_of_person_replaced columns :
  person_replaced (@sign_pair columns.+1) (@anything _) (Formulas.sign_square (Z.of_nat columns)).
Proof. exact: Released.signs_person_replaced. Qed.

(* ================================================================== two ids taken for one: theorem 13 *)
(* The rows of several people that are weighed as those of one are a person like any other: whatever
   `person_replaced` says holds when such a person is replaced by another one, of one id or of several. (For moments
   this needs no words: a person there is any family of rows.) *)
Theorem merged_people_replaced (A : Type) (I : finType) (f : A -> I -> Z) valid bound :
  person_replaced f valid bound ->
  forall (S S' T T' : finType) (v : S -> Z) (v' : S' -> Z) (w : T -> Z) (w' : T' -> Z)
    (x : S -> A) (x' : S' -> A) (y : T -> A) (y' : T' -> A) W (rest : I -> Z),
  (forall s, 0 <= v s) -> (forall s, 0 <= v' s) -> \sum_s v s + \sum_s v' s <= W ->
  (forall t, 0 <= w t) -> (forall t, 0 <= w' t) -> \sum_t w t + \sum_t w' t <= W ->
  (forall s, valid (x s)) -> (forall s, valid (x' s)) -> (forall t, valid (y t)) -> (forall t, valid (y' t)) ->
  distance (fun i => rest i + (\sum_s v s * f (x s) i + \sum_s v' s * f (x' s) i))
           (fun i => rest i + (\sum_t w t * f (y t) i + \sum_t w' t * f (y' t) i)) <= W ^+ 2 * bound 1.
Proof. exact: Released.merged_people_replaced. Qed.

(* Where one of them leaves an id that both had: a person becomes two, and the answer moves at most twice as far. *)
Theorem person_parted (A : Type) (I : finType) (f : A -> I -> Z) valid bound :
  person_replaced f valid bound ->
  forall (S T T' : finType) (v : S -> Z) (w : T -> Z) (w' : T' -> Z) (x : S -> A) (y : T -> A) (y' : T' -> A) W rest,
  weighs v W -> weighs w W -> weighs w' W ->
  (forall s, valid (x s)) -> (forall t, valid (y t)) -> (forall t, valid (y' t)) ->
  distance (fun i => rest i + \sum_s v s * f (x s) i)
           (fun i => rest i + \sum_t w t * f (y t) i + \sum_t w' t * f (y' t) i) <= 4%:R * (W ^+ 2 * bound 1).
Proof. exact: Released.person_parted. Qed.

(* ================================================================== survey weights: theorem 18 *)
Theorem total_of_person_replaced (S T : finType) (u v : S -> Z) (u' v' : T -> Z) W :
  0 <= W -> weighed W u v -> weighed W u' v' ->
  distance (total W u v) (total W u' v') <= W ^+ 4 * Formulas.weight_square 1.
Proof. exact: Released.total_replaced. Qed.

Theorem total_of_person_added (T : finType) (u v : T -> Z) W :
  0 <= W -> weighed W u v -> square (total W u v) <= W ^+ 4 * Formulas.weight_square 1.
Proof. exact: Released.total_added. Qed.

(* ================================================================== integer rows: theorem 5 *)
(* Numbers z, of norm at most one step more than the radius root - q/2 - 2 of `RowGrid.of_ball`, where root and q
   are the integer roots of the room and of p, become numbers k that are at most a half away from them (here twice,
   so that no half is needed): k is in the ball. The spare step is for the rounding of floats. *)
Theorem rounded_row_in_ball (R : realDomainType) p (z k : 'I_p -> R) (room root q : nat) :
  (root ^ 2 <= room)%N -> (p < q.+1 ^ 2)%N -> (q %/ 2 + 2 <= root)%N ->
  \sum_j z j ^+ 2 <= (root - q %/ 2 - 2).+1%:R ^+ 2 -> (forall j, `|2%:R * k j - 2%:R * z j| <= 1) ->
  \sum_j k j ^+ 2 <= room%:R.
Proof. exact: Released.rounded_row_in_ball. Qed.

(* With bounds alone every coordinate is at most `levels`. *)
Theorem boxed_row_in_ball p (k : row p) (levels : Z) :
  (forall j, `|k j| <= levels) -> square k <= Z.of_nat p * levels ^+ 2.
Proof. exact: Released.boxed_row_in_ball. Qed.

Theorem box_fits room p : 0 <= room -> 0 < p -> p * Formulas.box_levels room p ^+ 2 <= room.
Proof. exact: Released.box_fits. Qed.

(* The loop that follows: every step takes something off every coordinate that is not 0, so it ends with a row in
   the ball. *)
Theorem shortening_ends (I : finType) (step : (I -> int) -> I -> int) (most : nat) (k : I -> int) :
  (forall k i, (`|step k i| <= `|k i|.-1)%N) ->
  exists2 n, (n <= \max_i `|k i|)%N & (\sum_i `|iter n step k i| ^ 2 <= most)%N.
Proof. exact: Rounding.shortened. Qed.

(* Any part of a sum of products over n rows; 2^13 rows of squared length 2^40 stay within the 2^53 of a float. *)
Theorem partial_sums_are_exact (T : finType) (A : {set T}) p (k : T -> row p) (n : nat) (B : Z) i j :
  (#|A| <= n)%N -> (forall t, square (k t) <= B) -> 0 <= B -> `|\sum_(t in A) k t i * k t j| <= n%:R * B.
Proof. exact: Released.partial_sums. Qed.

(* ================================================================== shares of the budget: theorems 11 and 13 *)
(* Whatever is asked, and however it depends on noisy answers: what is answered costs no more than was charged. *)
Theorem shares_are_covered (answer : Type) (mu eta : rat) (ask : seq answer -> option (rat * rat)) (noisy : seq answer) :
  0 <= eta -> Shares.covers mu eta (Shares.answered mu eta ask noisy [::] [::]).
Proof. exact: Shares.release_covered. Qed.

(* The weights of a person's m rows, each a row's own weight divided by m and rounded down. *)
Theorem weights_of_a_person_fit (m W : nat) (v : 'I_m -> nat) :
  (forall t, (v t <= W)%N) -> (\sum_t v t %/ m <= W)%N.
Proof. exact: Shares.weights_fit. Qed.
