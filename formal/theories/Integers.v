(* The theorems for integers, as the formulas have them: lists of what the program is given, integer roots, minima. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring zify ssrZ.
From Graphveil Require Formulas Hull Moments Columns.
From Graphveil Require Import Vectors Definitions.
Import Order.Theory GRing.Theory Num.Theory.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Local Open Scope ring_scope.
Delimit Scope Z_scope with z. (* %Z means int, in mathcomp *)

Lemma sum_listed n (x : 'I_n -> Z) : Formulas.sum (listed x) = \sum_j x j.
Proof.
rewrite /listed -big_enum /=; elim: (enum 'I_n) => [|j l IH]; first by rewrite big_nil.
by rewrite big_cons -IH.
Qed.

Lemma sum_of_squares_listed n (x : 'I_n -> Z) : Formulas.sum_of_squares (listed x) = sq x.
Proof.
rewrite /Formulas.sum_of_squares /listed /sq -big_enum /=; elim: (enum 'I_n) => [|j l IH]; first by rewrite big_nil.
by rewrite big_cons -IH /=; lia.
Qed.

Lemma sum_pairs n (x y : 'I_n -> Z) (F : Z * Z -> Z) :
  Formulas.sum (map F (List.combine (listed x) (listed y))) = \sum_j F (x j, y j).
Proof.
rewrite /listed -big_enum /=; elim: (enum 'I_n) => [|j l IH]; first by rewrite big_nil.
by rewrite big_cons -IH.
Qed.

Lemma largest_ge0 l : 0 <= Formulas.largest l.
Proof. by elim: l => [|x l IH] //=; lia. Qed.

Lemma largest_ge n (x : 'I_n -> Z) j : x j <= Formulas.largest (listed x).
Proof.
rewrite /listed; have : j \in enum 'I_n by rewrite mem_enum.
elim: (enum 'I_n) => [|i l IH] //=; rewrite inE => /orP [/eqP ->|/IH]; lia.
Qed.

Lemma root_ge0 n : 0 <= Z.sqrt n + 1.
Proof. have := Z.sqrt_nonneg n; lia. Qed.

Lemma root_above n : 0 <= n -> n <= (Z.sqrt n + 1) ^+ 2.
Proof. move=> n0; have := Z.sqrt_spec n; lia. Qed.

Lemma powE (a : Z) : (a ^ 2)%z = a ^+ 2.
Proof. by rewrite expr2 Z.pow_2_r. Qed.

(* ------------------------------------------------------------------ from two rows to tables and people *)
Lemma natZ m : m%:R = Z.of_nat m :> Z.
Proof. by elim: m => [|m IH] //; rewrite mulrS IH; lia. Qed.

Lemma apart_ge0 (A : Type) (I : finType) (f : A -> I -> Z) valid D x : apart f valid D -> valid x -> 0 <= D.
Proof. by move=> fD vx; apply: le_trans (fD x x vx vx); apply: sumr_ge0 => i _; apply: sqr_ge0. Qed.

Lemma alone_ge0 (A : Type) (I : finType) (f : A -> I -> Z) valid D x : alone f valid D -> valid x -> 0 <= D.
Proof. by move=> fD vx; apply: le_trans (fD x vx); apply: sumr_ge0 => i _; apply: sqr_ge0. Qed.

Section Lift.
Variables (A : Type) (I : finType) (f : A -> I -> Z) (valid : A -> Prop) (bound : Z -> Z).
Hypothesis scales : forall m, bound m = m ^+ 2 * bound 1.
Hypothesis bound_ge0 : 0 <= bound 1.

Lemma lift_rows_replaced : apart f valid (bound 1) -> rows_replaced f valid bound.
Proof.
move=> fD n m B x y Bm vx vy xy; rewrite scales -natZ.
apply: (Hull.rows_replaced (f := fun t => f (x t)) (g := fun t => f (y t)) Bm) => //.
  by move=> t /xy ->.
by move=> s t; apply: fD.
Qed.

Lemma lift_rows_added : alone f valid (bound 1) -> rows_added f valid bound.
Proof.
move=> fN n m B x Bm vx; rewrite scales -natZ.
by apply: (Hull.rows_added (f := fun t => f (x t)) Bm) => // t; apply: fN.
Qed.

Lemma lift_person_replaced : apart f valid (bound 1) -> alone f valid (bound 1) -> person_replaced f valid bound.
Proof.
move=> fD fN S T v w x y W rest [v0 vW] [w0 wW] vx vy.
rewrite /distance; under eq_bigr do rewrite opprD addrACA subrr add0r.
apply: (Hull.person_replaced (f := fun s => f (x s)) (g := fun t => f (y t))) => //.
- by move=> s t; apply: fD.
- by move=> s; apply: fN.
- by move=> t; apply: fN.
Qed.

Lemma lift_person_added : alone f valid (bound 1) -> person_added f valid bound.
Proof.
move=> fN T w x W rest [w0 wW] vx; rewrite /distance.
under eq_bigr do rewrite addrAC subrr add0r.
by apply: (Hull.person_added (f := fun t => f (x t))) => // t; apply: fN.
Qed.
End Lift.

(* ------------------------------------------------------------------ columns *)
Lemma products_listed n (x y : 'I_n -> Z) :
  Formulas.sum (map (fun '(a, b) => (b * a) ^ 2)%z (List.combine (listed x) (listed y))) = \sum_j (y j * x j) ^+ 2.
Proof. by rewrite sum_pairs; apply: eq_bigr => j _; rewrite expr2; apply: Z.pow_2_r. Qed.

Lemma products_of_squares_listed n (x y : 'I_n -> Z) :
  Formulas.sum (map (fun '(a, b) => (b * a ^ 2) ^ 2)%z (List.combine (listed x) (listed y)))
  = \sum_j (y j * x j ^+ 2) ^+ 2.
Proof.
rewrite sum_pairs; apply: eq_bigr => j _; rewrite 2!expr2.
by transitivity ((y j * x j ^ 2) ^ 2)%z => //; rewrite !Z.pow_2_r.
Qed.

Section Columns.
Variables (p c : nat) (which : 'I_c -> 'I_p) (low high : row p) (weight : 'I_c -> Z).
Variables (centre : row p) (reach : 'I_c -> Z) (row_square : Z).
Hypothesis given : columns_given which weight row_square.
Hypothesis window : window_given low high.
Let ball := in_ball row_square : row p -> Prop.
Let heaviest := Formulas.largest (listed weight).
Let radius := (Z.sqrt row_square + 1)%z.
Let far := (Z.sqrt (Formulas.sum_of_squares (listed centre)) + 1)%z.

Let weight_ge0 j : 0 <= weight j. Proof. by case: given. Qed.
Let heavy j : weight j <= heaviest. Proof. exact: largest_ge. Qed.
Let heaviest_ge0 : 0 <= heaviest. Proof. exact: largest_ge0. Qed.
Let row_square_ge0 : 0 <= row_square. Proof. by case: given. Qed.
Let window' j : low (which j) <= high (which j). Proof. exact: window. Qed.
Let radius_ge0 : 0 <= radius. Proof. exact: root_ge0. Qed.
Let far_ge0 : 0 <= far. Proof. exact: root_ge0. Qed.
Let radius_above : row_square <= radius ^+ 2. Proof. exact: root_above. Qed.
Let picked (k : row p) : sq (fun j => k (which j)) <= square k.
Proof. by apply: Columns.sq_pick; case: given. Qed.
Let ball_picked k : ball k -> sq (fun j => k (which j)) <= row_square.
Proof. by move=> kB; apply: le_trans (picked k) kB. Qed.
Let far_above : sq (fun j => centre (which j)) <= far ^+ 2.
Proof. by apply: le_trans (picked centre) _; rewrite /square -/(sq centre) -sum_of_squares_listed root_above // sum_of_squares_listed sq_ge0. Qed.
Let distanceE : Formulas.distance_in_ball row_square (listed centre) = radius + far.
Proof. by rewrite /Formulas.distance_in_ball /radius /far; lia. Qed.

(* What is left of a formula for one row: the smaller of two bounds. *)
Let smaller (x a b : Z) : x <= a -> x <= b -> x <= (1 ^ 2 * Z.min a b)%z.
Proof. by move=> xa xb; change (1 ^ 2)%z with 1%z; lia. Qed.

Lemma means_apart : apart (mean which low high weight) ball
  (Formulas.mean_square (listed (widths which low high)) (listed weight) row_square 1).
Proof.
move=> k l /ball_picked kB /ball_picked lB; apply: smaller; first by rewrite products_listed Columns.means_window.
apply: le_trans (Columns.means_ball _ _ weight_ge0 heavy heaviest_ge0 kB lB) _; rewrite natZ powE; exact: lexx.
Qed.

Let origin_in_ball : ball (fun=> 0).
Proof. by rewrite /ball /in_ball /square big1 // => i _; rewrite expr0n. Qed.

(* Sums from the origin differ as much, and are not longer than two of them are apart. *)
Lemma means_from_origin_apart : apart (mean_from_origin which low high weight) ball
  (Formulas.mean_square (listed (widths which low high)) (listed weight) row_square 1).
Proof.
move=> k l kB lB; rewrite /distance /mean_from_origin.
by under eq_bigr do rewrite opprB addrA subrK; apply: means_apart.
Qed.

Lemma means_from_origin_alone : alone (mean_from_origin which low high weight) ball
  (Formulas.mean_square (listed (widths which low high)) (listed weight) row_square 1).
Proof. by move=> k kB; apply: means_apart. Qed.

(* ------------------------------------------------------------------ about a centre *)
Hypothesis centred : centre_given which low high centre reach.
Let inside j : low (which j) <= centre (which j) <= high (which j). Proof. by case: centred. Qed.
Let reaches j : high (which j) - centre (which j) <= reach j /\ centre (which j) - low (which j) <= reach j.
Proof. by case: centred. Qed.

Lemma means_alone : alone (mean_about_centre which low high weight centre) ball
  (Formulas.added_mean_square (listed reach) (listed weight) (listed centre) row_square 1).
Proof.
move=> k /ball_picked kB; apply: smaller; first by rewrite products_listed Columns.means_about_window.
rewrite distanceE !powE.
have H := Columns.means_about_ball weight_ge0 heavy heaviest_ge0 inside radius_ge0 far_ge0 radius_above far_above kB.
by apply: le_trans H _; rewrite ?natZ; exact: lexx.
Qed.

Lemma squares_apart : apart (square_about_centre which low high weight centre) ball
  (Formulas.square_square (listed reach) (listed weight) (listed centre) row_square 1).
Proof.
move=> k l /ball_picked kB /ball_picked lB; apply: smaller.
  by rewrite products_of_squares_listed Columns.squares_window.
rewrite distanceE !powE.
have H := Columns.squares_ball weight_ge0 heavy heaviest_ge0 inside radius_ge0 far_ge0 radius_above far_above kB lB.
by apply: le_trans H _; rewrite ?natZ; exact: lexx.
Qed.

Lemma squares_alone : alone (square_about_centre which low high weight centre) ball
  (Formulas.added_square_square (listed reach) (listed weight) (listed centre) row_square 1).
Proof.
move=> k /ball_picked kB; apply: smaller; first by rewrite products_of_squares_listed Columns.squares_alone_window.
rewrite distanceE !powE.
have H := Columns.squares_alone_ball weight_ge0 heavy heaviest_ge0 inside radius_ge0 far_ge0 radius_above far_above kB.
by apply: le_trans H _; rewrite ?natZ; exact: lexx.
Qed.

Lemma squares_alone_too : alone (square_about_centre which low high weight centre) ball
  (Formulas.square_square (listed reach) (listed weight) (listed centre) row_square 1).
Proof.
move=> k kB; apply: le_trans (squares_alone kB) _; rewrite /Formulas.added_square_square /Formulas.square_square.
set a := Formulas.sum _; set b := (_ ^ 2)%z; have b0 : 0 <= b by rewrite /b Z.pow_2_r; nia.
by change (1 ^ 2)%z with 1%z; lia.
Qed.
(* ------------------------------------------------------------------ tables and people *)
Let scales x m : (m ^ 2 * x)%z = m ^+ 2 * (1 ^ 2 * x)%z.
Proof. by rewrite powE (Z.mul_1_l x). Qed.

Lemma means_rows_replaced : rows_replaced (mean which low high weight) ball
  (Formulas.mean_square (listed (widths which low high)) (listed weight) row_square).
Proof. by apply: lift_rows_replaced; [move=> m; apply: scales | apply: apart_ge0 means_apart origin_in_ball | apply: means_apart]. Qed.

Lemma means_person_replaced : person_replaced (mean_from_origin which low high weight) ball
  (Formulas.mean_square (listed (widths which low high)) (listed weight) row_square).
Proof. by apply: lift_person_replaced; [apply: apart_ge0 means_apart origin_in_ball | apply: means_from_origin_apart | apply: means_from_origin_alone]. Qed.

Lemma means_rows_added : rows_added (mean_about_centre which low high weight centre) ball
  (Formulas.added_mean_square (listed reach) (listed weight) (listed centre) row_square).
Proof. by apply: lift_rows_added; [move=> m; apply: scales | apply: alone_ge0 means_alone origin_in_ball | apply: means_alone]. Qed.

Lemma means_person_added : person_added (mean_about_centre which low high weight centre) ball
  (Formulas.added_mean_square (listed reach) (listed weight) (listed centre) row_square).
Proof. by apply: lift_person_added; [apply: alone_ge0 means_alone origin_in_ball | apply: means_alone]. Qed.

Lemma squares_rows_replaced : rows_replaced (square_about_centre which low high weight centre) ball
  (Formulas.square_square (listed reach) (listed weight) (listed centre) row_square).
Proof. by apply: lift_rows_replaced; [move=> m; apply: scales | apply: apart_ge0 squares_apart origin_in_ball | apply: squares_apart]. Qed.

Lemma squares_person_replaced : person_replaced (square_about_centre which low high weight centre) ball
  (Formulas.square_square (listed reach) (listed weight) (listed centre) row_square).
Proof. by apply: lift_person_replaced; [apply: apart_ge0 squares_apart origin_in_ball | apply: squares_apart | apply: squares_alone_too]. Qed.

Lemma squares_rows_added : rows_added (square_about_centre which low high weight centre) ball
  (Formulas.added_square_square (listed reach) (listed weight) (listed centre) row_square).
Proof. by apply: lift_rows_added; [move=> m; apply: scales | apply: alone_ge0 squares_alone origin_in_ball | apply: squares_alone]. Qed.

Lemma squares_person_added : person_added (square_about_centre which low high weight centre) ball
  (Formulas.added_square_square (listed reach) (listed weight) (listed centre) row_square).
Proof. by apply: lift_person_added; [apply: alone_ge0 squares_alone origin_in_ball | apply: squares_alone]. Qed.

End Columns.
